# FindLAPACKE: LAPACKE, the C interface of LAPACK, which it brings along, as the target LAPACKE::lapacke.
find_path(LAPACKE_INCLUDE_DIR lapacke.h)
find_library(LAPACKE_LIBRARY lapacke)
mark_as_advanced(LAPACKE_INCLUDE_DIR LAPACKE_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LAPACKE REQUIRED_VARS LAPACKE_LIBRARY LAPACKE_INCLUDE_DIR)

if(LAPACKE_FOUND AND NOT TARGET LAPACKE::lapacke)
  add_library(LAPACKE::lapacke UNKNOWN IMPORTED)
  set_target_properties(LAPACKE::lapacke PROPERTIES
                        IMPORTED_LOCATION ${LAPACKE_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${LAPACKE_INCLUDE_DIR})
endif()
