// SPDX-License-Identifier: Apache-2.0
#include "app/train/trained_network.h"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "graph/average.h"
#include "graph/passes/predict.h"
#include "lockstep/operators.h"
#include "runtime/state/safetensors.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The metadata of a checkpoint, or of the best weights.
std::string said_of(const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json said = nlohmann::ordered_json::object();
  for (const auto& [key, as] : {std::pair{"steps", "iterations"},
                                {"iterations", "iterations"},
                                {"held_out_accuracy", "held_out_accuracy"},
                                {"held_out_score", "held_out_score"},
                                {"held_out_mean_probability", "held_out_mean_probability"}})
    if (auto found = metadata.find(key); found != metadata.end())
      said[as] = json::parse(found->second, nullptr, false);
  return said.dump();
}

// `origin` is the file of the model, for errors.
TrainingModel network_of(const TrainingModel& model, const std::string& origin,
                         const std::string& weights, bool raw) {
  Safetensors file = read_safetensors(weights);
  if (!file.checked) std::cerr << "lockstep: " << unchecked_line(weights) << "\n";
  for (const State& state : model.states)
    if (const auto found = file.tensors.find(averaged_by(state.name));
        raw && state.kind == StateKind::average && found != file.tensors.end())
      file.tensors.insert_or_assign(state.name, found->second);
  try {
    TrainingModel network = with_trained_values(model, file.tensors);
    network.metadata["trained"] = said_of(file.metadata);
    return network;
  } catch (const Error& error) {
    fail(weights, " and ", origin, ": ", error.what());
  }
}

}  // namespace

TrainingModel network_with_values(const RunFiles& files, bool raw) {
  const auto& [weights, step] = files;
  check(fs::exists(step), weights, ": ", step,
        ", which contains the network of these weights, does not exist");
  const TrainingModel model = load_model(all_ops(), step).model;
  return network_of(model, step, weights, raw);
}

TrainingModel network_with_values(const TrainingModel& step, const RunFiles& files, bool raw) {
  return network_of(step, files.step, files.weights, raw);
}

Value input_of(const Graph& inference) {
  for (Value input : inference.inputs())
    if (!inference.literal(input)) return input;
  fail("the network '", inference.name(), "' takes no input");
}

void save_trained(const TrainingModel& model, const StateValues& values, const std::string& trained,
                  const std::string& path) {
  TrainingModel network = with_trained_values(model, values);
  network.metadata["trained"] = trained;
  save_model(network, path);
}

}  // namespace lockstep
