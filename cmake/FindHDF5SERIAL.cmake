# FindHDF5SERIAL: the C library of HDF5, 1.10.3 or later, as the target HDF5SERIAL::hdf5, for
# its headers as HDF5SERIAL::headers, and its name at run time as HDF5SERIAL_NAME. A
# build of it for MPI is passed over: its headers would make every user include mpi.h.
find_path(HDF5SERIAL_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
find_library(HDF5SERIAL_LIBRARY NAMES hdf5_serial hdf5 PATH_SUFFIXES hdf5/serial)
mark_as_advanced(HDF5SERIAL_INCLUDE_DIR HDF5SERIAL_LIBRARY)

set(HDF5SERIAL_VERSION "")
set(HDF5SERIAL_IS_SERIAL "")
if(HDF5SERIAL_INCLUDE_DIR)
  file(GLOB hdf5_headers ${HDF5SERIAL_INCLUDE_DIR}/H5pubconf*.h ${HDF5SERIAL_INCLUDE_DIR}/H5public.h)
  set(hdf5_text "")
  foreach(header IN LISTS hdf5_headers)
    file(STRINGS ${header} lines REGEX "^#define +(H5_HAVE_PARALLEL|H5_VERS_(MAJOR|MINOR|RELEASE)) ")
    string(APPEND hdf5_text "${lines};")
  endforeach()
  set(hdf5_numbers "")
  foreach(part MAJOR MINOR RELEASE)
    if(hdf5_text MATCHES "H5_VERS_${part} +([0-9]+)")
      list(APPEND hdf5_numbers ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(JOIN hdf5_numbers "." HDF5SERIAL_VERSION)
  if(NOT hdf5_text MATCHES "H5_HAVE_PARALLEL +1" AND HDF5SERIAL_VERSION VERSION_GREATER_EQUAL 1.10.3)
    set(HDF5SERIAL_IS_SERIAL ON)
  endif()
endif()

# the name under which the system finds it at run time
set(HDF5SERIAL_NAME "")
if(HDF5SERIAL_LIBRARY)
  if(CMAKE_OBJDUMP)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${HDF5SERIAL_LIBRARY}
                    OUTPUT_VARIABLE hdf5_dynamic ERROR_QUIET)
  endif()
  get_filename_component(HDF5SERIAL_NAME ${HDF5SERIAL_LIBRARY} NAME)
  if(hdf5_dynamic MATCHES "SONAME +([^ \n]+)")
    set(HDF5SERIAL_NAME ${CMAKE_MATCH_1})
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HDF5SERIAL
  REQUIRED_VARS HDF5SERIAL_LIBRARY HDF5SERIAL_INCLUDE_DIR HDF5SERIAL_IS_SERIAL
  VERSION_VAR HDF5SERIAL_VERSION)

if(HDF5SERIAL_FOUND AND NOT TARGET HDF5SERIAL::hdf5)
  add_library(HDF5SERIAL::headers INTERFACE IMPORTED)
  target_include_directories(HDF5SERIAL::headers SYSTEM INTERFACE ${HDF5SERIAL_INCLUDE_DIR})
  add_library(HDF5SERIAL::hdf5 UNKNOWN IMPORTED)
  set_target_properties(HDF5SERIAL::hdf5 PROPERTIES
                        IMPORTED_LOCATION ${HDF5SERIAL_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${HDF5SERIAL_INCLUDE_DIR})
endif()
