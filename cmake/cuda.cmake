# nvcc and NVRTC, when they are there. nvcc compiles the kernels for GPUs, which the library
# carries as bytes and hands to the driver of the machine that it runs on: building needs no
# GPU, no driver and no library of CUDA, and what is built runs where there are none.
# Both also check that physics/*.h stays inside the dialect that GPU compilers take: the
# tests labelled `dialect`, or the target physics_dialect.
set(NANOBRAG_CUDA_ARCHITECTURES 75 80 86 89 90 100 120 CACHE STRING
    "GPUs that get machine code, where nvcc knows them (90: sm_90); others compile PTX")
if(NANOBRAG_CUDA)
  find_program(NANOBRAG_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
               PATH_SUFFIXES bin DOC "nvcc, for the kernels of GPUs")
  mark_as_advanced(NANOBRAG_NVCC)
  if(NANOBRAG_NVCC)
    get_filename_component(nvcc_dir ${NANOBRAG_NVCC} REALPATH)
    get_filename_component(nvcc_dir ${nvcc_dir} DIRECTORY)
    get_filename_component(cuda_root ${nvcc_dir} DIRECTORY)
    find_path(NANOBRAG_NVRTC_INCLUDE_DIR nvrtc.h HINTS ${cuda_root}/include)
    find_library(NANOBRAG_NVRTC_LIBRARY nvrtc HINTS ${cuda_root} PATH_SUFFIXES lib64 lib)
    # what tests compare with
    find_path(NANOBRAG_CUDA_INCLUDE_DIR cuda.h HINTS ${cuda_root}/include)
    find_library(NANOBRAG_CUDA_STUB cuda HINTS ${cuda_root}/lib64/stubs NO_DEFAULT_PATH)
    mark_as_advanced(NANOBRAG_NVRTC_INCLUDE_DIR NANOBRAG_NVRTC_LIBRARY
                     NANOBRAG_CUDA_INCLUDE_DIR NANOBRAG_CUDA_STUB)
  endif()
  # it needs a C++ compiler, of a version that it knows
  if(NANOBRAG_NVCC AND NOT NANOBRAG_NVCC_WORKS)
    set(trial ${CMAKE_BINARY_DIR}/CMakeFiles/nvcc_trial)
    file(WRITE ${trial}.cu "extern \"C\" __global__ void trial(void) {}\n")
    execute_process(COMMAND ${NANOBRAG_NVCC} -fatbin ${trial}.cu -o ${trial}.fatbin
                    RESULT_VARIABLE trial_failed OUTPUT_VARIABLE trial_said
                    ERROR_VARIABLE trial_said)
    if(trial_failed)
      message(STATUS "${NANOBRAG_NVCC} does not work: ${trial_said}")
    else()
      set(NANOBRAG_NVCC_WORKS ON CACHE INTERNAL "nvcc compiles")
    endif()
  endif()
endif()
if(NANOBRAG_REQUIRE_CUDA AND NOT (NANOBRAG_NVCC_WORKS AND NANOBRAG_NVRTC_LIBRARY))
  message(FATAL_ERROR "nvcc and libnvrtc are required (NANOBRAG_REQUIRE_CUDA) and missing")
endif()
nanobrag_package(CUDA NANOBRAG_NVCC_WORKS "kernels for GPUs" "nvidia-cuda-toolkit")

# Those of the architectures that nvcc knows, and its version as drivers count it. What is
# the same for every device of a kind has no letter, so neither have our names.
if(NANOBRAG_WITH_CUDA)
  execute_process(COMMAND ${NANOBRAG_NVCC} --list-gpu-arch OUTPUT_VARIABLE nvcc_knows
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${NANOBRAG_NVCC} --version OUTPUT_VARIABLE nvcc_version
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "release ([0-9]+)\\.([0-9]+)" nvcc_version "${nvcc_version}")
  math(EXPR nvcc_version "1000 * ${CMAKE_MATCH_1} + 10 * ${CMAKE_MATCH_2}")
  set(cuda_targets "")
  # 550: not every step of a block (gpu/text/block.h) reads which thread it is
  set(cuda_flags -O3 --threads 0 -diag-suppress 550 -Xptxas -v
      -Xfatbin -compress-all)
  if(CMAKE_COMPILE_WARNING_AS_ERROR)
    list(APPEND cuda_flags -Werror all-warnings)
  endif()
  # kernels of derivatives that the driver compiles, for the lowest architecture
  set(cuda_ptx_flags -O3 -diag-suppress 550 -Xfatbin -compress-all)
  if(CMAKE_COMPILE_WARNING_AS_ERROR)
    list(APPEND cuda_ptx_flags -Werror all-warnings)
  endif()
  set(cuda_lowest "")
  list(SORT NANOBRAG_CUDA_ARCHITECTURES COMPARE NATURAL)
  foreach(number IN LISTS NANOBRAG_CUDA_ARCHITECTURES)
    if(NOT number MATCHES "^[0-9]+$")
      message(FATAL_ERROR "NANOBRAG_CUDA_ARCHITECTURES: '${number}' is no number")
    elseif(nvcc_knows MATCHES "compute_${number}\n")
      list(APPEND cuda_flags -gencode arch=compute_${number},code=sm_${number})
      list(APPEND cuda_targets sm_${number})
      if(NOT cuda_lowest)
        set(cuda_lowest ${number})
      endif()
      set(cuda_highest ${number})
    else()
      message(STATUS "nvcc does not know sm_${number}: it gets no machine code")
    endif()
  endforeach()
  if(NOT cuda_lowest)
    message(FATAL_ERROR "NANOBRAG_CUDA_ARCHITECTURES: nvcc knows none of them")
  endif()
  # the lowest, so that every newer device can run it, and the highest
  set(cuda_ptx ${cuda_lowest} ${cuda_highest})
  list(REMOVE_DUPLICATES cuda_ptx)
  foreach(number IN LISTS cuda_ptx)
    list(APPEND cuda_flags -gencode arch=compute_${number},code=compute_${number})
    list(APPEND cuda_targets compute_${number})
  endforeach()
  list(JOIN cuda_targets " " cuda_targets)
  list(APPEND cuda_ptx_flags
       -gencode arch=compute_${cuda_lowest},code=compute_${cuda_lowest})
endif()

# of each file of kernels: its source, and flags. Noise has the bits of the CPU, which
# contracts nothing
set(cuda_double_source gpu/text/kernels.cu)
set(cuda_double_flags -fmad=true -DPHYS_DOUBLE)
set(cuda_single_source gpu/text/kernels.cu)
# of a quotient float loses two units in the last place, and four operations
set(cuda_single_flags -fmad=true -DPHYS_SINGLE -prec-div=false)
set(cuda_noise_source gpu/text/noise.cu)
set(cuda_noise_flags -fmad=false -DPHYS_DOUBLE)
# the class of derivative kernels that serves every tangent but those of F, where there is
# no NVRTC to build others; a file for each variant, as the driver compiles whole files
set(cuda_kinds double single noise)
file(STRINGS ${PROJECT_SOURCE_DIR}/src/nanobrag/kernels/variants.def variants
     REGEX "^VARIANT")
set(cuda_variants "")
foreach(variant IN LISTS variants)
  string(REGEX MATCH "\\(([A-Z]+), *([A-Z]+)\\)" variant "${variant}")
  set(shape ${CMAKE_MATCH_1})
  set(lookup ${CMAKE_MATCH_2})
  string(APPEND cuda_variants "VARIANT(${shape},${lookup})")
  foreach(precision double single)
    set(kind few_${precision}_${shape}_${lookup})
    list(APPEND cuda_kinds ${kind})
    set(cuda_${kind}_source gpu/text/derivatives/derivatives.cu)
    set(cuda_${kind}_flags ${cuda_${precision}_flags} -DGPU_ONLY_CLASS=JACOBIAN_FEW
        -DGPU_ONLY_SHAPE=${shape} -DGPU_ONLY_LOOKUP=${lookup})
  endforeach()
endforeach()

# nanobrag_cuda(TARGET HOLDER): compiles the kernels, and has HOLDER, a C source of TARGET,
# take in every file. What ptxas says is kept beside them as *.ptxas.
function(nanobrag_cuda target holder)
  set(fatbins "")
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/gpu) # Ninja makes it, Makefiles do not
  foreach(kind IN LISTS cuda_kinds)
    set(flags ${cuda_flags})
    if(kind MATCHES "^few")
      set(flags ${cuda_ptx_flags})
    endif()
    set(source ${cuda_${kind}_source})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/gpu/kernels_${kind})
    set(command ${NANOBRAG_NVCC} ${flags} ${cuda_${kind}_flags}
        -I ${CMAKE_CURRENT_SOURCE_DIR} -MD -MF ${output}.d -MT ${output}.fatbin
        -fatbin ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${output}.fatbin)
    add_custom_command(
      OUTPUT ${output}.fatbin
      BYPRODUCTS ${output}.ptxas
      COMMAND ${CMAKE_COMMAND} "-DCOMMAND=${command}" -DREPORT=${output}.ptxas
              -P ${PROJECT_SOURCE_DIR}/cmake/nvcc.cmake
      DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/nvcc.cmake
      DEPFILE ${output}.d
      COMMENT "Compiling the kernels for GPUs: ${kind}"
      VERBATIM)
    list(APPEND fatbins ${output}.fatbin)
  endforeach()
  set_property(SOURCE ${holder} APPEND PROPERTY COMPILE_DEFINITIONS
               "FATBIN_VARIANTS=${cuda_variants}"
               FATBIN_FOLDER="${CMAKE_CURRENT_BINARY_DIR}/gpu"
               "FATBIN_TARGETS=\"${cuda_targets}\"" FATBIN_TOOLKIT=${nvcc_version})
  set_property(SOURCE ${holder} APPEND PROPERTY OBJECT_DEPENDS ${fatbins})
  target_sources(${target} PRIVATE ${fatbins})
endfunction()

add_custom_target(physics_dialect
                  COMMAND ${CMAKE_CTEST_COMMAND} -L dialect --output-on-failure
                  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
                  COMMENT "Compiling physics/ with every compiler it is written for"
                  USES_TERMINAL)
