// SPDX-License-Identifier: Apache-2.0
#include "builders/step/initial_states.h"

#include "lockstep/operators.h"
#include "operators/collective/collective.h"

namespace lockstep {
namespace {

void bind_initial(TrainingModel& one, const std::string& state, Value value) {
  one.init.output(value);
  one.initial.push_back({state, one.init.name(value)});
}

Value filled(TrainingModel& one, const std::string& state, const Dims& dims,
             const Initializer& initializer, int stream) {
  return initializer(one.init, dims, stream, state + "_init");
}

}  // namespace

void add_state(TrainingModel& one, const DrawnState& drawn, const std::vector<BesideState>& beside,
               int replicas) {
  const std::string& name = drawn.state.name;
  std::optional<OriginScope> origin;
  if (!drawn.origin.empty()) origin.emplace(one.init, drawn.origin);
  Value first = filled(one, name, drawn.dims, drawn.initializer, drawn.stream);
  if (replicas > 1) first = broadcast(one.init, first, {name + "_shared"}, name + "_broadcast")[0];
  bind_initial(one, name, first);
  one.states.push_back(drawn.state);
  for (const BesideState& other : beside) {
    State state = drawn.state;
    state.kind = other.kind;
    state.name = join(name, "_", other.name);
    state.values = {state.name};
    bind_initial(one, state.name,
                 other.copies ? identity(one.init, first, state.name + "_init")
                              : filled(one, state.name, drawn.dims, constant(other.first), 0));
    one.states.push_back(std::move(state));
  }
}

}  // namespace lockstep
