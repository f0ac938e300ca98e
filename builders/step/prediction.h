// SPDX-License-Identifier: Apache-2.0
// The same network for prediction: the model function runs a second time.
#pragma once

#include "builders/net/net.h"
#include "graph/training.h"

namespace lockstep {

// An output's value, under the name of the output where that is free.
Value named_output(Graph& graph, const Net::Named& output);

// Fills model.inference; its parameters must be those of training, of the same types.
void trace_inference(TrainingModel& model, const ModelFn& network);

}  // namespace lockstep
