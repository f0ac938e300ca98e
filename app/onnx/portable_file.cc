// SPDX-License-Identifier: Apache-2.0
#include "app/onnx/portable_file.h"

#include "app/onnx/network_file.h"
#include "graph/local_functions.h"
#include "graph/passes/portable.h"
#include "graph/passes/predict.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"

namespace lockstep {

TrainingModel portable_network(const std::string& path) {
  const LoadedModel file = read_model(path);
  check(file.model.states.empty() || file.initialised, path,
        ": contains only the shapes of its parameters; train it, then export the run");
  StateValues values;
  for (const State& state : file.model.states)
    if (const auto found = file.values.find(state.values[0]); found != file.values.end())
      values.emplace(state.name, found->second);
  return portable_network(with_trained_values(file.model, values), path);
}

TrainingModel portable_network(TrainingModel network, const std::string& path) {
  try {
    network.inference = in_standard_operators(network.inference, OpenBodies::remain);
    network.metadata[kPortable] = "true";
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
  return network;
}

}  // namespace lockstep
