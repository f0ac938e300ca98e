include(CMakeFindDependencyMacro)
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/LockstepTargets.cmake)
