// SPDX-License-Identifier: Apache-2.0
// GPUs that need not be here: cuDNN chooses engines by a GPU's properties alone.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct GpuProperties {
  std::string name;    // as CUDA calls it: "NVIDIA H200"
  std::string source;  // of the properties
  std::string json;    // what cuDNN wants to know
};

// The GPUs whose properties are known by a short name: "h200".
std::vector<std::string> known_gpus();

// A known GPU, or one whose properties `lockstep doctor --device-properties` wrote to that file.
// Throws naming what is known, or the field that the file lacks.
GpuProperties gpu_named(const std::string& name_or_file);

}  // namespace lockstep
