// SPDX-License-Identifier: Apache-2.0
#include "app/onnx/inference_run.h"

#include <cstring>

#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "runtime/threads/cores.h"

namespace lockstep {
namespace {

constexpr int64_t kSmall = 1024;  // largest number of elements of an input that may decide a shape

// A copy of the graph with small inputs as constants.
Graph with_constants(const Graph& graph, const std::map<std::string, Literal>& inputs) {
  Graph copy = graph.clone();
  for (Value input : copy.inputs()) {
    auto found = inputs.find(copy.name(input));
    if (found != inputs.end() && found->second.count() <= kSmall) copy.fold(input, found->second);
  }
  return copy;
}

std::vector<Literal> run_graph(const Graph& graph, const std::map<std::string, Literal>& inputs,
                               const std::vector<KernelTable>& kernels) {
  std::vector<std::string> feeds, fetches;
  std::vector<Dims> dims;
  std::vector<Tensor> values;
  for (Value input : graph.inputs()) {
    if (graph.literal(input)) continue;
    const std::string& name = graph.name(input);
    auto found = inputs.find(name);
    check(found != inputs.end(), "there is no value for input '", name, "' ", graph.type(input));
    check(found->second.dtype() == graph.dtype(input), "input '", name, "' is ", graph.type(input),
          ", but its value is ", found->second.type());
    feeds.push_back(name);
    dims.push_back(found->second.dims());
    values.push_back(view_of(found->second));
  }
  for (Value output : graph.outputs()) fetches.push_back(graph.name(output));
  States none({}, {});
  Workers workers(1, cpu_cores());
  auto executor = make_executor(compile({.graph = graph,
                                         .feeds = feeds,
                                         .feed_dims = dims,
                                         .fetches = fetches,
                                         .devices = cpu_devices(1),
                                         .kernels = kernels,
                                         .options = {.threads = cpu_cores()}}),
                                none, workers);
  executor->run(values, {});
  std::vector<Literal> outputs;
  for (const Tensor& tensor : executor->fetches()) {
    outputs.emplace_back(tensor.desc.dtype, tensor.desc.dims);
    if (tensor.count() > 0)
      std::memcpy(outputs.back().bytes().data(), tensor.data, tensor.desc.bytes());
  }
  return outputs;
}

}  // namespace

std::vector<Literal> run_inference(const Graph& graph, const std::map<std::string, Literal>& inputs,
                                   const std::vector<KernelTable>& kernels) {
  try {
    return run_graph(graph, inputs, kernels);
  } catch (const Unsupported&) {
    return run_graph(with_constants(graph, inputs), inputs, kernels);
  }
}

}  // namespace lockstep
