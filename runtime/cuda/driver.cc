// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/driver.h"

#include <cuda_runtime_api.h>

#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string version_text(int version) { return join(version / 1000, ".", version % 1000 / 10); }

}  // namespace

std::string why_no_gpu(int driver, int build, const std::string& error) {
  if (driver == 0) return "no driver";
  // A driver supports all minor versions of its CUDA version and earlier CUDA versions.
  if (driver / 1000 < build / 1000)
    return join("the driver is too old: it is for CUDA ", version_text(driver),
                ", but this build needs a driver for CUDA ", version_text(build), ": version ",
                build / 1000 >= 13 ? "580" : "525", " or later");
  return error;
}

std::string why_no_gpu() {
  int devices = 0, driver = 0, build = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return "";
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&build);
  cudaGetLastError();  // clears the error, which the next launch would report
  return why_no_gpu(driver, build, status == cudaSuccess ? "none" : cudaGetErrorString(status));
}

}  // namespace lockstep
