# SPDX-License-Identifier: Apache-2.0
include(CMakeFindDependencyMacro)
# Requires the oneDNN of this build: its major versions do not mix.
set(LOCKSTEP_DNNL "@LOCKSTEP_DNNL@" CACHE FILEPATH "oneDNN's library")
set(LOCKSTEP_DNNL_INCLUDE "@LOCKSTEP_DNNL_INCLUDE@" CACHE PATH "oneDNN's headers")
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)
if("@LOCKSTEP_CUDA_KERNELS@")  # GPU kernels link CUDA's runtime
  find_dependency(CUDAToolkit)
endif()
include(${CMAKE_CURRENT_LIST_DIR}/LockstepTargets.cmake)
