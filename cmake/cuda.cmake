# nvcc and NVRTC, when they are there. nanobrag has no GPU code; the toolkit serves to
# check that physics/*.h stays inside the dialect that GPU compilers take: the tests
# labelled `dialect`, or the target physics_dialect.
if(NANOBRAG_CUDA)
  find_program(NANOBRAG_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
               PATH_SUFFIXES bin DOC "nvcc, for the physics check")
  mark_as_advanced(NANOBRAG_NVCC)
  if(NANOBRAG_NVCC)
    get_filename_component(nvcc_dir ${NANOBRAG_NVCC} REALPATH)
    get_filename_component(nvcc_dir ${nvcc_dir} DIRECTORY)
    get_filename_component(cuda_root ${nvcc_dir} DIRECTORY)
    find_path(NANOBRAG_NVRTC_INCLUDE_DIR nvrtc.h HINTS ${cuda_root}/include)
    find_library(NANOBRAG_NVRTC_LIBRARY nvrtc HINTS ${cuda_root} PATH_SUFFIXES lib64 lib)
    mark_as_advanced(NANOBRAG_NVRTC_INCLUDE_DIR NANOBRAG_NVRTC_LIBRARY)
  endif()
endif()
if(NANOBRAG_REQUIRE_CUDA AND NOT NANOBRAG_NVRTC_LIBRARY)
  message(FATAL_ERROR "nvcc and libnvrtc are required (NANOBRAG_REQUIRE_CUDA) and missing")
endif()
nanobrag_package(CUDA NANOBRAG_NVCC "check of the physics by nvcc (no GPU code is built)"
                 "nvidia-cuda-toolkit")

add_custom_target(physics_dialect
                  COMMAND ${CMAKE_CTEST_COMMAND} -L dialect --output-on-failure
                  WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
                  COMMENT "Compiling physics/ with every compiler it is written for"
                  USES_TERMINAL)
