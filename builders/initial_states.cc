#include "builders/initial_states.h"

#include "operators/collective/collective.h"

namespace lockstep {
namespace {

void bind_initial(TrainingModel& model, const std::string& state, Value value) {
  model.init.output(value);
  model.initial.push_back({state, model.init.name(value)});
}

void draw(TrainingModel& model, const DrawnState& drawn) {
  const State& state = drawn.state;
  Value first;
  {
    ReplicaScope replica(model.init, 0);
    first = drawn.initializer(model.init, drawn.dims, drawn.stream,
                              Site(state.values[0] + "_init", Where{"", 0}));
  }
  std::vector<Value> values{first};
  if (state.values.size() > 1) {
    std::vector<std::string> names;
    for (const std::string& name : state.values) names.push_back(name + "_shared");
    values = broadcast(model.init, first, names, state.name + "_broadcast");
  }
  for (std::size_t k = 0; k < values.size(); ++k) bind_initial(model, state.values[k], values[k]);
}

void fill_with_zeros(TrainingModel& model, const State& state, const Dims& dims) {
  for (std::size_t k = 0; k < state.values.size(); ++k) {
    ReplicaScope replica(model.init, static_cast<int>(k));
    bind_initial(model, state.values[k],
                 constant(0)(model.init, dims, 0, Site(state.values[k] + "_init", Where{"", 0})));
  }
}

}  // namespace

void add_state(TrainingModel& model, const DrawnState& drawn,
               const std::vector<StateKind>& beside) {
  draw(model, drawn);
  model.states.push_back(drawn.state);
  for (StateKind kind : beside) {
    State state = drawn.state;
    const std::string ending = join("_", name_of(kind));
    state.kind = kind;
    state.name += ending;
    for (std::string& value : state.values) value += ending;
    fill_with_zeros(model, state, drawn.dims);
    model.states.push_back(std::move(state));
  }
}

}  // namespace lockstep
