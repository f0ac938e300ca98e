// The same network for prediction: the model function runs a second time.
#pragma once

#include "builders/net/net.h"
#include "graph/training.h"

namespace lockstep {

// Fills model.inference; its parameters must be those of training, of the same types.
void trace_inference(TrainingModel& model, const ModelFn& network);

}  // namespace lockstep
