# FindFFTW: the double-precision FFTW 3 as the target FFTW::fftw3.
find_path(FFTW_INCLUDE_DIR fftw3.h)
find_library(FFTW_LIBRARY fftw3)
mark_as_advanced(FFTW_INCLUDE_DIR FFTW_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(FFTW REQUIRED_VARS FFTW_LIBRARY FFTW_INCLUDE_DIR)

if(FFTW_FOUND AND NOT TARGET FFTW::fftw3)
  add_library(FFTW::fftw3 UNKNOWN IMPORTED)
  set_target_properties(FFTW::fftw3 PROPERTIES
                        IMPORTED_LOCATION ${FFTW_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${FFTW_INCLUDE_DIR})
endif()
