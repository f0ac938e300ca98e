// SPDX-License-Identifier: Apache-2.0
// The driver, as far as it decides whether there are GPUs.
#pragma once

#include <string>

namespace lockstep {

// Why CUDA finds no GPU on this machine; "" if it finds one.
std::string why_no_gpu();

// The same in words. Versions are as CUDA writes them (13000 for CUDA 13.0): of the newest CUDA
// that the driver knows, 0 without a driver, and of this build's. `error` is CUDA's own text.
std::string why_no_gpu(int driver, int build, const std::string& error);

}  // namespace lockstep
