#include "builders/initial_states.h"

#include "operators/collective/collective.h"

namespace lockstep {
namespace {

void bind_initial(TrainingModel& model, const std::string& state, Value value) {
  model.init.output(value);
  model.initial.push_back({state, model.init.name(value)});
}

}  // namespace

void draw_state(TrainingModel& model, const State& state, const Dims& dims,
                const Initializer& initializer, int stream) {
  Value first;
  {
    ReplicaScope replica(model.init, 0);
    first = initializer(model.init, dims, stream, Site(state.values[0] + "_init", Where{"", 0}));
  }
  std::vector<Value> values{first};
  if (state.values.size() > 1) {
    std::vector<std::string> names;
    for (const std::string& name : state.values) names.push_back(name + "_shared");
    values = broadcast(model.init, first, names, state.name + "_broadcast");
  }
  for (std::size_t k = 0; k < values.size(); ++k) bind_initial(model, state.values[k], values[k]);
}

void zero_state(TrainingModel& model, const State& state, const Dims& dims) {
  for (std::size_t k = 0; k < state.values.size(); ++k) {
    ReplicaScope replica(model.init, static_cast<int>(k));
    bind_initial(model, state.values[k],
                 constant(0)(model.init, dims, 0, Site(state.values[k] + "_init", Where{"", 0})));
  }
}

}  // namespace lockstep
