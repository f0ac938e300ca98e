// SPDX-License-Identifier: Apache-2.0
// `lockstep infer` for a network on arrays: the outputs for each example, as .npy files.
#pragma once

#include <map>
#include <string>

#include "app/arrays/config.h"
#include "app/predict/infer.h"
#include "lockstep/training_model.h"

namespace lockstep {

inline constexpr const char* kArraysMark = "arrays";  // metadata of a trained network

// The facts about its data that a prediction needs.
std::map<std::string, std::string> arrays_metadata(const ArraysConfig& config);

// Writes NAME.npy for each output of the network into options.out, with a row for each example of
// the only path in options.files. `path`: of the network, for errors.
int predict_arrays(const TrainingModel& network, const std::string& path,
                   const InferOptions& options);

// "takes x float32[N,13], gives price float32[N,1]"
std::string description_of(const TrainingModel& network);

}  // namespace lockstep
