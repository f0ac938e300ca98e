# `cmake --install` leaves headers, libraries, the binary and a find_package(Lockstep).
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY lockstep_libraries)
install(TARGETS ${libraries} EXPORT LockstepTargets)
install(TARGETS lockstep_cli)
foreach(folder graph graph/passes runtime operators builders builders/all_reduce builders/optimizers
    models data)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.h)
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep/${folder})
endforeach()
file(GLOB rooms RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/operators/*/*.h)
foreach(header ${rooms})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lockstep/${folder})
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Lockstep)
install(EXPORT LockstepTargets NAMESPACE Lockstep:: DESTINATION ${package_dir})
configure_file(cmake/LockstepConfig.cmake ${PROJECT_BINARY_DIR}/LockstepConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/LockstepConfig.cmake DESTINATION ${package_dir})
install(FILES cmake/dependencies.cmake DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/LockstepConfigVersion.cmake DESTINATION ${package_dir})
