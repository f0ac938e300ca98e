// SPDX-License-Identifier: Apache-2.0
// `lockstep infer` for a network on arrays: the outputs for each example, as .npy files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/arrays/example_set.h"
#include "app/arrays/trained_data.h"
#include "app/predict/infer.h"
#include "lockstep/training_model.h"

namespace lockstep {

// The tensors of an example that a trained network takes.
std::vector<FedArray> fed_arrays(const Graph& network, bool whole);
// The number of examples that a trained network takes at a time; 0: any number.
int64_t rows_of_network(const Graph& network, bool whole);

// Writes NAME.npy for each output of the network into options.out, with a row for each example of
// the only path in options.files.
int predict_arrays(const TrainingModel& network, const std::string& path, const TrainedData& data,
                   const InferOptions& options);

// "takes x float32[N,13], gives price float32[N,1]"
std::string description_of(const TrainingModel& network);

}  // namespace lockstep
