// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fold_net.h"

#include <gtest/gtest.h>

#include "graph/passes/precision.h"
#include "runtime/accelerator.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"

namespace lockstep::testing {

void count_folded(const Plan& plan, FoldedPrediction& predicted) {
  for (const PlanStep& step : plan.steps) ++predicted.steps[step.type];
  for (const std::string& note : plan.notes)
    if (note.find(" of convolution and batch norm: ") != note.npos)
      predicted.folded += std::stoi(note);
  predicted.plan = text_of(plan);
}

FoldedPrediction predicted_by(const FoldNet& net, const FoldWay& way) {
  const Graph graph = way.precision == DType::float32
                          ? net.graph.clone()
                          : in_precision(net.graph, {.narrow = way.precision});
  std::vector<std::string> fed, states, fetches;
  std::vector<Tensor> feeds;
  std::vector<Dims> dims;
  std::vector<TensorDesc> descs;
  for (const auto& [name, value] : net.fed) {
    fed.push_back(name);
    dims.push_back(value.dims());
    feeds.push_back(view_of(value));
  }
  for (Value output : graph.outputs()) fetches.push_back(graph.name(output));
  for (const auto& [name, value] : net.states) {
    states.push_back(name);
    descs.push_back({value.dtype(), value.dims()});
  }
  const CompileRequest request{.graph = graph,
                               .feeds = fed,
                               .feed_dims = dims,
                               .fetches = fetches,
                               .states = states,
                               .devices = {way.device()},
                               .kernels = way.kernels(),
                               .options = {.rewrites = way.rewrites, .exact = way.exact}};
  Accelerator* const accelerator = table_for(way.kernels(), way.device()).accelerator();
  States store(states, descs, accelerator, std::vector<Device>(descs.size(), way.device()));
  for (const auto& [name, value] : net.states) store.write(name, value);
  Workers workers(1, 1);
  const auto executor = make_executor(compile(request), store, workers, accelerator);
  FoldedPrediction result;
  for (int run = 0; run < 2; ++run) {  // the second run may replay a recording
    executor->run(feeds, {});
    const Tensor y = executor->fetches()[0];
    std::vector<float> values(y.as<float>(), y.as<float>() + y.count());
    if (run > 0) {
      EXPECT_EQ(values, result.y) << "a prediction changes the next prediction";
    }
    result.y = std::move(values);
  }
  count_folded(executor->plan(), result);
  return result;
}

}  // namespace lockstep::testing
