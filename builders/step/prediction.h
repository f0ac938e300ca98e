// SPDX-License-Identifier: Apache-2.0
// Builds the network for prediction by a second call of the model function.
#pragma once

#include "lockstep/net.h"
#include "lockstep/training_model.h"

namespace lockstep {

// The output's value, renamed to the output's name if possible, else an identity with this name.
Value named_output(Graph& graph, const Net::Named& output);

// Fills model.inference. Throws if a parameter does not exist in training or has another type.
void trace_inference(TrainingModel& model, const ModelFn& network);
// Lets the inference graph read the averages of parameters instead of the parameters.
void predict_by_averages(TrainingModel& model);

}  // namespace lockstep
