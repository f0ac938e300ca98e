include(CMakeFindDependencyMacro)
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
find_package(CUDAToolkit QUIET)  # a build with GPU kernels links CUDA's runtime
include(${CMAKE_CURRENT_LIST_DIR}/LockstepTargets.cmake)
