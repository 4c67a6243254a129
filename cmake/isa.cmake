# nanobrag_isa(TARGET SOURCE...): compile each SOURCE once per instruction set and precision
# and add the objects to TARGET, named after the first. In the source KERNEL_ISA is the set's
# name as a string, KERNELS a symbol made of set and precision (KERNELS_IN_DOUBLE that of
# double), and PHYS_SINGLE asks for float. A SOURCE after the word DOUBLE is compiled in double
# alone.
# The sets: scalar (what vectorisation is measured against), and v2, v3, v4 on x86-64, base
# elsewhere; chosen at run time in kernels/dispatch.c.
set(nanobrag_isa_flags -fno-math-errno -fno-trapping-math -ffp-contract=fast)
set(nanobrag_isa_flags_scalar -fno-tree-vectorize -fno-tree-slp-vectorize)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  set(nanobrag_isa_flags_scalar -fno-vectorize -fno-slp-vectorize)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(nanobrag_isa_sets scalar v2 v3 v4)
  # rounding is then an instruction there too, not a call
  list(APPEND nanobrag_isa_flags_scalar -march=x86-64-v2)
else()
  set(nanobrag_isa_sets scalar base)
endif()
set(NANOBRAG_ISA_SETS "" CACHE STRING "Instruction sets that the pixel loops are compiled for, \
besides scalar: of v2, v3 and v4; all of them where this is empty. Their text is the same")
mark_as_advanced(NANOBRAG_ISA_SETS)
if(NANOBRAG_ISA_SETS)
  list(REMOVE_ITEM nanobrag_isa_sets v2 v3 v4)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    list(APPEND nanobrag_isa_sets ${NANOBRAG_ISA_SETS})
  endif()
  list(REMOVE_DUPLICATES nanobrag_isa_sets)
endif()
set(nanobrag_isa_flags_base -fopenmp-simd)
set(nanobrag_isa_flags_v2 -fopenmp-simd -march=x86-64-v2)
set(nanobrag_isa_flags_v3 ${nanobrag_isa_flags_v2} -mavx2 -mfma -mbmi -mbmi2)
set(nanobrag_isa_flags_v4 ${nanobrag_isa_flags_v3} -mavx512f -mavx512dq -mavx512bw
    -mavx512vl -mavx512cd -mprefer-vector-width=512)

# -fopenmp comes with nanobrag_flags and asks for the loops to be vectorised all the same;
# this is linked after it, so that it has the last word
add_library(nanobrag_scalar INTERFACE)
target_compile_options(nanobrag_scalar INTERFACE -fno-openmp -Wno-unknown-pragmas)

# sanitizers make ten times the code of these loops, and gcc needs minutes for it at -O3
set(nanobrag_isa_optimise $<$<NOT:$<CONFIG:Debug>>:-O3>)
option(NANOBRAG_SANITIZE_LOOPS "Pixel loops have the sanitizers of the rest, if any" ON)
mark_as_advanced(NANOBRAG_SANITIZE_LOOPS)
if(NOT NANOBRAG_SANITIZE_LOOPS)
  set(nanobrag_isa_optimise -fno-sanitize=all -O2)
elseif(CMAKE_C_FLAGS MATCHES "-fsanitize")
  set(nanobrag_isa_optimise "")
endif()

function(nanobrag_isa target source)
  cmake_parse_arguments(PARSE_ARGV 2 more ONLY_DOUBLE "" DOUBLE)
  set(precisions double single)
  if(more_ONLY_DOUBLE)
    set(precisions double)
  endif()
  get_filename_component(name ${source} NAME_WE)
  foreach(set IN LISTS nanobrag_isa_sets)
    foreach(precision IN LISTS precisions)
      set(objects ${target}_${name}_${set}_${precision})
      set(sources ${source} ${more_UNPARSED_ARGUMENTS})
      if(precision STREQUAL double)
        list(APPEND sources ${more_DOUBLE})
      endif()
      add_library(${objects} OBJECT ${sources})
      target_link_libraries(${objects} PRIVATE nanobrag_flags)
      target_compile_definitions(${objects} PRIVATE
        KERNEL_ISA="${set}" KERNELS=${name}_${set}_${precision}
        KERNELS_IN_DOUBLE=${name}_${set}_double
        $<$<STREQUAL:${precision},single>:PHYS_SINGLE>)
      target_compile_options(${objects} PRIVATE ${nanobrag_isa_optimise}
                             ${nanobrag_isa_flags} ${nanobrag_isa_flags_${set}})
      if(set STREQUAL scalar)
        target_link_libraries(${objects} PRIVATE nanobrag_scalar)
      endif()
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
    endforeach()
  endforeach()
endfunction()
