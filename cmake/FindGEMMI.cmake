# FindGEMMI: the headers of gemmi 0.5, with PEGTL and zlib, which they need, and a C++
# compiler, as the target GEMMI::headers. (From 0.6 on gemmi is no longer headers alone.)
find_path(GEMMI_INCLUDE_DIR gemmi/mmcif.hpp)
find_path(GEMMI_PEGTL_INCLUDE_DIR tao/pegtl.hpp)
find_package(ZLIB QUIET)
include(CheckLanguage)
check_language(CXX)
mark_as_advanced(GEMMI_INCLUDE_DIR GEMMI_PEGTL_INCLUDE_DIR)

if(GEMMI_INCLUDE_DIR)
  file(STRINGS ${GEMMI_INCLUDE_DIR}/gemmi/version.hpp gemmi_version REGEX "GEMMI_VERSION")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" GEMMI_VERSION "${gemmi_version}")
endif()
if(GEMMI_VERSION MATCHES "^0\\.5\\.")
  set(GEMMI_HEADERS_ONLY TRUE)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GEMMI VERSION_VAR GEMMI_VERSION
  REQUIRED_VARS GEMMI_INCLUDE_DIR GEMMI_HEADERS_ONLY GEMMI_PEGTL_INCLUDE_DIR ZLIB_LIBRARY
                CMAKE_CXX_COMPILER)

if(GEMMI_FOUND AND NOT TARGET GEMMI::headers)
  add_library(GEMMI::headers INTERFACE IMPORTED)
  set_target_properties(GEMMI::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                        "${GEMMI_INCLUDE_DIR};${GEMMI_PEGTL_INCLUDE_DIR}")
endif()
