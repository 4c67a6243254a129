# What `cmake --install` puts where.
include(CMakePackageConfigHelpers)

install(TARGETS nanobrag nanobrag_static EXPORT nanobragTargets)
install(TARGETS nanobrag_program)
install(DIRECTORY include/nanobrag TYPE INCLUDE FILES_MATCHING PATTERN "*.h"
        PATTERN mpi.h EXCLUDE)
install(FILES LICENSE CITATION.cff README.md TYPE DOC)
# README's links and commands work there too
install(DIRECTORY docs examples TYPE DOC PATTERN CMakeLists.txt EXCLUDE
        PATTERN development EXCLUDE)
install(FILES ${PROJECT_BINARY_DIR}/src/nanobrag_program/nanobrag.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${PROJECT_BINARY_DIR}/src/nanobrag_program/nanobrag.bash RENAME nanobrag
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

set(nanobrag_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nanobrag)
install(EXPORT nanobragTargets NAMESPACE nanobrag:: DESTINATION ${nanobrag_config_dir})
configure_package_config_file(cmake/nanobragConfig.cmake.in nanobragConfig.cmake
                              INSTALL_DESTINATION ${nanobrag_config_dir})
write_basic_package_version_file(nanobragConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nanobragConfig.cmake
              ${PROJECT_BINARY_DIR}/nanobragConfigVersion.cmake
              cmake/FindCJSON.cmake cmake/FindFFTW.cmake cmake/FindLAPACKE.cmake
              cmake/FindNLOPT.cmake
        DESTINATION ${nanobrag_config_dir})
# relative, so that the tree may be moved
file(RELATIVE_PATH nanobrag_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/nanobrag.pc.in nanobrag.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/nanobrag.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# a component of its own: who has no MPI finds nanobrag
if(NANOBRAG_WITH_MPI)
  install(TARGETS nanobrag_mpi_program)
  install(TARGETS nanobrag_mpi EXPORT nanobrag_mpiTargets)
  install(EXPORT nanobrag_mpiTargets NAMESPACE nanobrag:: DESTINATION ${nanobrag_config_dir})
  install(FILES include/nanobrag/mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/nanobrag)
  configure_file(cmake/nanobrag_mpi.pc.in nanobrag_mpi.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/nanobrag_mpi.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

if(NANOBRAG_INSTALL_NANOBRAGG_LINK)
  install(CODE "
    file(CREATE_LINK nanobrag
         \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/nanoBragg\" SYMBOLIC)")
endif()
