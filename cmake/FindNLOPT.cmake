# FindNLOPT: NLopt. Its own package file is not everywhere, as the target NLOPT::nlopt.
find_path(NLOPT_INCLUDE_DIR nlopt.h)
find_library(NLOPT_LIBRARY nlopt)
mark_as_advanced(NLOPT_INCLUDE_DIR NLOPT_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NLOPT REQUIRED_VARS NLOPT_LIBRARY NLOPT_INCLUDE_DIR)

if(NLOPT_FOUND AND NOT TARGET NLOPT::nlopt)
  add_library(NLOPT::nlopt UNKNOWN IMPORTED)
  set_target_properties(NLOPT::nlopt PROPERTIES
                        IMPORTED_LOCATION ${NLOPT_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${NLOPT_INCLUDE_DIR})
endif()
