# `cmake --install` leaves headers, libraries, the binary, its manual page and completions, examples of
# configurations and a find_package(Lockstep).
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY lockstep_libraries)
install(TARGETS ${libraries} EXPORT LockstepTargets)
install(TARGETS lockstep_cli)
install(CODE "
  set(source [==[${PROJECT_SOURCE_DIR}]==])
  set(headers \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/lockstep\")")
install(SCRIPT cmake/install_headers.cmake)
install(CODE "
  set(program [==[$<TARGET_FILE:lockstep_cli>]==])
  set(texts \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")")
install(SCRIPT cmake/install_texts.cmake)

set(doc_dir ${CMAKE_INSTALL_DATADIR}/doc/lockstep)
install(DIRECTORY configs/ DESTINATION ${doc_dir}/examples)
install(FILES LICENSE DESTINATION ${doc_dir} RENAME copyright OPTIONAL)  # Debian's name of it
install(FILES NOTICE DESTINATION ${doc_dir} OPTIONAL)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep)
install(EXPORT LockstepTargets NAMESPACE Lockstep:: DESTINATION ${package_dir})
configure_file(cmake/LockstepConfig.cmake ${PROJECT_BINARY_DIR}/LockstepConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/LockstepConfig.cmake DESTINATION ${package_dir})
install(FILES cmake/dependencies.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake DESTINATION ${package_dir})
