// SPDX-License-Identifier: Apache-2.0
// GPUs that may be absent: cuDNN chooses engines by a GPU's properties only.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

struct GpuProperties {
  std::string name;    // CUDA's name: "NVIDIA H200"
  std::string source;  // of the properties
  std::string json;    // the properties that cuDNN needs
};

// The short names of the GPUs with known properties: "h200".
std::vector<std::string> known_gpus();

// A known GPU, or a GPU with properties in a file written by `lockstep doctor --device-properties`.
// Throws with a list of the known GPUs, or with the field that the file lacks.
GpuProperties gpu_named(const std::string& name_or_file);

}  // namespace lockstep
