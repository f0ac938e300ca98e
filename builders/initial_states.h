// The init graph: the first value of every state.
#pragma once

#include "builders/initializers.h"
#include "graph/training.h"

namespace lockstep {

// Replica 0 draws, the others get a copy. `stream` numbers the draws.
void draw_state(TrainingModel& model, const State& state, const Dims& dims,
                const Initializer& initializer, int stream);

// Every replica has zeros of its own.
void zero_state(TrainingModel& model, const State& state, const Dims& dims);

}  // namespace lockstep
