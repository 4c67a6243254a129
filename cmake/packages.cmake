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

if(NANOBRAG_OPENMP)
  find_package(OpenMP QUIET COMPONENTS C)
endif()
nanobrag_package(OPENMP OpenMP_C_FOUND "threads" "gcc, or libomp-dev for clang")

if(NANOBRAG_FFTW)
  find_package(FFTW QUIET)
endif()
nanobrag_package(FFTW FFTW_FOUND "-psf" "libfftw3-dev"
                 " (FFTW is GPL-2+, and so is a build with it)")

if(NANOBRAG_PNG)
  find_package(PNG QUIET)
endif()
nanobrag_package(PNG PNG_FOUND "-pngfile" "libpng-dev")

if(NANOBRAG_CJSON)
  find_path(CJSON_INCLUDE_DIR cjson/cJSON.h)
  find_library(CJSON_LIBRARY cjson)
  mark_as_advanced(CJSON_INCLUDE_DIR CJSON_LIBRARY)
  if(CJSON_INCLUDE_DIR AND CJSON_LIBRARY)
    set(nanobrag_cjson_found ON)
    add_library(nanobrag_cjson INTERFACE)
    target_include_directories(nanobrag_cjson SYSTEM INTERFACE ${CJSON_INCLUDE_DIR})
    target_link_libraries(nanobrag_cjson INTERFACE ${CJSON_LIBRARY})
  endif()
endif()
nanobrag_package(CJSON nanobrag_cjson_found "-json" "libcjson-dev")

function(nanobrag_package_summary)
  message(STATUS "nanobrag ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}:")
  foreach(line IN LISTS nanobrag_summary)
    message(STATUS "${line}")
  endforeach()
endfunction()
