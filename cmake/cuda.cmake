# SPDX-License-Identifier: Apache-2.0
# GPU kernels for Ampere and Hopper, and as PTX for later GPUs. Kernels use only features of Ampere, so one PTX is made,
# and all code is made from it. CUDA's runtime is linked into the binary, which starts on machines without a driver.
set(CMAKE_CUDA_COMPILER ${LOCKSTEP_NVCC})
set(CMAKE_CUDA_ARCHITECTURES OFF)
set(gpu_code --generate-code=arch=compute_80,code=[compute_80,sm_80,sm_90])
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.4)  # C++20 as our headers use it
  message(FATAL_ERROR "CUDA: nvcc ${CMAKE_CUDA_COMPILER_VERSION} is too old, 12.4 is needed; "
                      "-DLOCKSTEP_CUDA=OFF builds CPU replicas")
endif()
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 lacks nvcc's option
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} ${gpu_code} --expt-relaxed-constexpr")  # for the host's random numbers
# The host's part only prepares and launches; GPU code is equal at every level.
set(CMAKE_CUDA_FLAGS_RELEASE "-O1 -DNDEBUG")
set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O1 -g -DNDEBUG")
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
find_package(CUDAToolkit REQUIRED)
set(LOCKSTEP_CUDA_KERNELS ON)
message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER_VERSION}; building GPU kernels")
