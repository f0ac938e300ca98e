// SPDX-License-Identifier: Apache-2.0
// The driver, and the reason that no GPU is usable.
#pragma once

#include <string>

namespace lockstep {

// Returns the reason that CUDA finds no GPU on this machine; "" if it finds a GPU.
std::string why_no_gpu();

// Formats the reason. Versions are CUDA's numbers (13000 for CUDA 13.0). `driver`: the newest CUDA
// that the driver supports, 0 without a driver. `build`: the CUDA of this build. `error`: CUDA's
// text.
std::string why_no_gpu(int driver, int build, const std::string& error);

}  // namespace lockstep
