// SPDX-License-Identifier: Apache-2.0
// The facts about its data that a trained network keeps for predictions.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "app/arrays/config.h"
#include "app/arrays/example_set.h"
#include "data/transform.h"
#include "lockstep/training_model.h"

namespace lockstep {

inline constexpr const char* kArraysMark = "arrays";  // metadata of a trained network

struct TrainedData {
  ArraysConfig config;                             // only keys of DATA
  std::optional<Preparation> preparation = {};     // of pictures
  std::map<std::string, double> mask_limits = {};  // by output: one channel is class 1 above it
};

// `set`: the examples that the network is trained on.
std::map<std::string, std::string> arrays_metadata(const ArraysConfig& config,
                                                   const ExampleSet& set);
// Throws if the metadata is damaged. `path`: of the network, for errors.
TrainedData trained_data_in(const TrainingModel& network, const std::string& path);

}  // namespace lockstep
