// SPDX-License-Identifier: Apache-2.0
// The trained network of a run, as one graph with its values.
#pragma once

#include <string>

#include "graph/io.h"

namespace lockstep {

// The files of a trained network: its values, and the step that holds its graph.
struct RunFiles {
  std::string weights;  // .safetensors
  std::string step;
};
// The network of a run with its values, whatever it predicts: from a checkpoint, or weights alone,
// and the step.onnx of their run.
TrainingModel network_with_values(const RunFiles& files);

// The input that is fed, of a network with its values.
Value input_of(const Graph& inference);

// A single file of standard operators. `trained`: iterations and score, as JSON.
void save_trained(const TrainingModel& model, const StateValues& values, const std::string& trained,
                  const std::string& path);

}  // namespace lockstep
