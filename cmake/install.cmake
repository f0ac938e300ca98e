# `cmake --install` leaves headers, libraries, the binary and a find_package(Lockstep).
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY lockstep_libraries)
install(TARGETS ${libraries} EXPORT LockstepTargets)
install(TARGETS lockstep_cli)
install(CODE "
  set(source [==[${PROJECT_SOURCE_DIR}]==])
  set(headers \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/lockstep\")")
install(SCRIPT cmake/install_headers.cmake)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep)
install(EXPORT LockstepTargets NAMESPACE Lockstep:: DESTINATION ${package_dir})
configure_file(cmake/LockstepConfig.cmake ${PROJECT_BINARY_DIR}/LockstepConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/LockstepConfig.cmake DESTINATION ${package_dir})
install(FILES cmake/dependencies.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake DESTINATION ${package_dir})
