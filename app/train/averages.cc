// SPDX-License-Identifier: Apache-2.0
#include "app/train/averages.h"

#include "graph/average.h"

namespace lockstep {

void read_averages(TrainingModel& test, const TrainingModel& trained) {
  for (State& state : test.states) {
    const State* average = trained.find_state(average_of(state.name));
    if (!average) continue;
    for (std::size_t k = 0; k < state.values.size(); ++k)
      test.step.rename(test.step.at(state.values[k]), average->values.at(k));
    state = *average;
  }
}

}  // namespace lockstep
