include(CMakeFindDependencyMacro)
# The very oneDNN that this was built with: its major versions do not mix.
set(LOCKSTEP_DNNL "@LOCKSTEP_DNNL@" CACHE FILEPATH "oneDNN's library")
set(LOCKSTEP_DNNL_INCLUDE "@LOCKSTEP_DNNL_INCLUDE@" CACHE PATH "oneDNN's headers")
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
find_package(CUDAToolkit QUIET)  # a build with GPU kernels links CUDA's runtime
include(${CMAKE_CURRENT_LIST_DIR}/LockstepTargets.cmake)
