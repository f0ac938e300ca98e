// SPDX-License-Identifier: Apache-2.0
// The trained network of a run, as one graph with its values.
#pragma once

#include <string>

#include "lockstep/model_files.h"

namespace lockstep {

// The files of a trained network: its values, and the step with its graph.
struct RunFiles {
  std::string weights;  // .safetensors
  std::string step;
};
// The network of a run with its values, for any task. The values come from a checkpoint or from
// weights alone, the graph from the run's step.onnx. With `raw` the network has the parameters
// themselves, even if the step predicts by their averages.
TrainingModel network_with_values(const RunFiles& files, bool raw = false);
// The network of a step in memory; files.step is its origin, for errors.
TrainingModel network_with_values(const TrainingModel& step, const RunFiles& files,
                                  bool raw = false);

// The fed input of a network with its values.
Value input_of(const Graph& inference);

// Writes a single file of standard operators. `trained` has iterations and score, as JSON.
void save_trained(const TrainingModel& model, const StateValues& values, const std::string& trained,
                  const std::string& path);

}  // namespace lockstep
