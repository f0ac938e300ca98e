// The training step of a configuration.
#pragma once

#include "data/dataset.h"
#include "graph/training.h"
#include "runtime/state/session.h"
#include "tools/train/config.h"

namespace lockstep {

DatasetOptions dataset_of(const TrainConfig& config, bool held_out);
int reading_threads(const TrainConfig& config);

// A model by name, or the network of MODEL.ONNX with a cross-entropy loss on its scores; for all
// replicas of so many processes.
TrainingModel build_configured_model(const TrainConfig& config, int processes = 1);
// This process's share of the step. Every process builds the step of all replicas and keeps its
// part; before that they check that their configurations agree.
TrainingModel build_own_model(const TrainConfig& config, Comm* comm);
SessionOptions session_options(const TrainConfig& config, Comm* comm);

// The division of a batch into parts that go through the network together, for the run's number of
// replicas.
BatchShares shares_of(const TrainConfig& config, int64_t replicas);

}  // namespace lockstep
