# The packages nanobrag can use. A missing one is said, never an error: NANOBRAG_WITH_X
# is what the rest of the build asks.
set(nanobrag_summary "")

# nanobrag_package(NAME FOUND WHAT PACKAGE [REMARK]): what it gives; Debian's name for it;
# what to know when it is in
macro(nanobrag_package name found what package)
  if(NOT NANOBRAG_${name})
    set(NANOBRAG_WITH_${name} OFF)
    list(APPEND nanobrag_summary "  ${name}: off (NANOBRAG_${name}=OFF), no ${what}")
  elseif(${found})
    set(NANOBRAG_WITH_${name} ON)
    list(APPEND nanobrag_summary "  ${name}: in, ${what}${ARGN}")
  else()
    set(NANOBRAG_WITH_${name} OFF)
    list(APPEND nanobrag_summary
         "  ${name}: not found, no ${what}. Debian package: ${package}")
  endif()
endmacro()

# the C library has them: kernels of GPUs are built in the background
find_package(Threads REQUIRED)
# glibc and musl have it: numbers of files are read in the locale "C", whatever the program's
include(CheckSymbolExists)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
check_symbol_exists(strtod_l "stdlib.h;locale.h" NANOBRAG_HAS_STRTOD_L)
unset(CMAKE_REQUIRED_DEFINITIONS)
if(NOT NANOBRAG_HAS_STRTOD_L)
  message(FATAL_ERROR "the C library has no strtod_l() in <stdlib.h>; build with glibc or musl")
endif()

if(NANOBRAG_OPENMP)
  find_package(OpenMP QUIET COMPONENTS C)
endif()
nanobrag_package(OPENMP OpenMP_C_FOUND "threads" "gcc, or libomp-dev for clang")

if(NANOBRAG_FFTW)
  find_package(FFTW QUIET)
endif()
nanobrag_package(FFTW FFTW_FOUND "-psf, and -pdb by transforms" "libfftw3-dev"
                 " (FFTW is GPL-2+, and so is a build with it)")

if(NANOBRAG_PNG)
  find_package(PNG QUIET)
endif()
nanobrag_package(PNG PNG_FOUND "-pngfile" "libpng-dev")

if(NANOBRAG_CJSON)
  find_package(CJSON QUIET)
endif()
nanobrag_package(CJSON CJSON_FOUND "-json" "libcjson-dev")

if(NANOBRAG_LAPACK)
  find_package(LAPACKE QUIET)
endif()
nanobrag_package(LAPACK LAPACKE_FOUND "fits (-fit)" "liblapacke-dev")

if(NANOBRAG_NLOPT)
  find_package(NLOPT QUIET)
endif()
nanobrag_package(NLOPT NLOPT_FOUND "fits of more than 200 parameters" "libnlopt-dev")

if(NANOBRAG_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS C)
endif()
nanobrag_package(MPI MPI_C_FOUND "nanobrag_mpi (fits and shots by several processes)" "libopenmpi-dev")

if(NANOBRAG_HDF5)
  find_package(HDF5SERIAL QUIET)
endif()
nanobrag_package(HDF5 HDF5SERIAL_FOUND "NXmx images (-imagefile x.nxs)" "libhdf5-dev")

if(NANOBRAG_GEMMI)
  find_package(GEMMI QUIET)
endif()
nanobrag_package(GEMMI GEMMI_FOUND "-pdb and -mtz"
                 "gemmi-dev (0.5) and tao-pegtl-dev, with g++ and zlib1g-dev")
if(NANOBRAG_WITH_GEMMI)
  enable_language(CXX)
  # what the runtime of this compiler is called
  set(NANOBRAG_CXX_RUNTIME stdc++)
  if("c++" IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    set(NANOBRAG_CXX_RUNTIME c++)
  endif()
endif()

# Static copies of them, for the program alone. Nothing is missing without.
set(NANOBRAG_ARCHIVES "")
if(CMAKE_SYSTEM_NAME STREQUAL Linux)
  set(nanobrag_archive_names "")
  if(NANOBRAG_WITH_FFTW)
    list(APPEND nanobrag_archive_names fftw3)
  endif()
  if(NANOBRAG_WITH_PNG)
    list(APPEND nanobrag_archive_names png z)
  endif()
  if(NANOBRAG_WITH_GEMMI)
    list(APPEND nanobrag_archive_names z ${NANOBRAG_CXX_RUNTIME})
    list(REMOVE_DUPLICATES nanobrag_archive_names)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=lib${NANOBRAG_CXX_RUNTIME}.a
                    OUTPUT_VARIABLE nanobrag_cxx OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(nanobrag_cxx "${nanobrag_cxx}" DIRECTORY)
  endif()
  if(NANOBRAG_WITH_CJSON)
    list(APPEND nanobrag_archive_names cjson)
  endif()
  if(NANOBRAG_WITH_OPENMP AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    list(APPEND nanobrag_archive_names gomp)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libgomp.a
                    OUTPUT_VARIABLE nanobrag_gomp OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(nanobrag_gomp "${nanobrag_gomp}" DIRECTORY)
  endif()
  # LAPACK's archive is of use only with all that it needs
  if(NANOBRAG_WITH_LAPACK AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libgfortran.a
                    OUTPUT_VARIABLE nanobrag_gfortran OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(nanobrag_gfortran "${nanobrag_gfortran}" DIRECTORY)
    set(nanobrag_lapack_names lapacke lapack blas gfortran quadmath)
    set(nanobrag_lapack_missing "")
    foreach(name IN LISTS nanobrag_lapack_names)
      find_library(NANOBRAG_ARCHIVE_${name} lib${name}.a HINTS ${nanobrag_gfortran})
      mark_as_advanced(NANOBRAG_ARCHIVE_${name})
      if(NOT NANOBRAG_ARCHIVE_${name})
        list(APPEND nanobrag_lapack_missing ${name})
      endif()
    endforeach()
    if(NOT nanobrag_lapack_missing)
      list(APPEND nanobrag_archive_names ${nanobrag_lapack_names})
    endif()
  endif()
  foreach(name IN LISTS nanobrag_archive_names)
    find_library(NANOBRAG_ARCHIVE_${name} lib${name}.a
                 HINTS ${nanobrag_gomp} ${nanobrag_cxx})
    mark_as_advanced(NANOBRAG_ARCHIVE_${name})
    if(NANOBRAG_ARCHIVE_${name})
      list(APPEND NANOBRAG_ARCHIVES ${NANOBRAG_ARCHIVE_${name}})
    endif()
  endforeach()
endif()

function(nanobrag_package_summary)
  message(STATUS "nanobrag ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}:")
  foreach(line IN LISTS nanobrag_summary)
    message(STATUS "${line}")
  endforeach()
endfunction()
