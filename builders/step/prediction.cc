// SPDX-License-Identifier: Apache-2.0
#include "builders/step/prediction.h"

#include <algorithm>

#include "graph/average.h"
#include "graph/random_stream.h"
#include "lockstep/operators.h"

namespace lockstep {
Value named_output(Graph& graph, const Net::Named& output) {
  if (graph.name(output.value) == output.name) return output.value;
  const std::vector<Value>& declared = graph.outputs();
  const bool twice = std::find(declared.begin(), declared.end(), output.value) != declared.end();
  if (twice || graph.find(output.name) || !graph.producer(output.value))
    return identity(graph, output.value, output.name);
  graph.rename(output.value, output.name);
  return output.value;
}

void trace_inference(TrainingModel& model, const ModelFn& network) {
  Net net(model.inference, Mode::infer);
  network(net);
  for (const Net::Param& param : net.params()) {
    const std::string at = param.origin.empty() ? "" : param.origin + ": ";
    check(model.find_state(param.name), at, "parameter '", param.name,
          "' exists only for prediction; training creates no parameter with that name");
    const TensorType &here = model.inference.type(param.value),
                     &trained = model.step.type(model.step.at(param.name));
    check(here == trained, at, "parameter '", param.name, "' is ", here, " in prediction, ",
          trained, " in training");
  }
  fix_random_streams(model.inference);
  for (const Net::Named& output : net.outputs())
    model.inference.output(named_output(model.inference, output));
}

void predict_by_averages(TrainingModel& model) {
  for (const State& state : model.states)
    if (state.kind == StateKind::average)
      if (const Value read = model.inference.find(averaged_by(state.name)))
        model.inference.rename(read, state.name);
}

}  // namespace lockstep
