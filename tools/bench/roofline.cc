// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/roofline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lockstep/operators.h"
#include "lockstep/session_options.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/traffic.h"
#include "tools/bench/random_rows.h"

namespace lockstep {
namespace {

constexpr int kRuns = 5;

// The fastest run of one operator `type` on `operands`, which are cast to `dtype` first.
double fastest_seconds(const char* type, const std::vector<Literal>& operands, DType dtype,
                       const Device& device, const std::vector<KernelTable>& kernels,
                       const CompileOptions& options) {
  Graph graph(all_ops(), type);
  std::vector<std::string> feeds;
  std::vector<Dims> dims;
  std::vector<Tensor> tensors;
  std::vector<Value> inputs;
  for (const Literal& operand : operands) {
    feeds.push_back(join("operand_", feeds.size()));
    dims.push_back(operand.dims());
    tensors.push_back(view_of(operand));
    const Value fed = graph.input(feeds.back(), operand.type());
    // Never the feed itself: a GPU's step would wait for the feed to arrive.
    const Value there = graph.add_value({.type = "Abs", .inputs = {fed}}, "there");
    inputs.push_back(operand.dtype() == dtype ? there : cast(graph, there, dtype));
  }
  const Value result = graph.add_value({.type = type, .inputs = inputs}, "result");
  States none_kept({}, {});
  Workers workers(1, options.threads);
  const auto executor = make_executor(compile({.graph = graph,
                                               .feeds = feeds,
                                               .feed_dims = dims,
                                               .fetches = {graph.name(result)},
                                               .devices = {device},
                                               .kernels = kernels,
                                               .options = options}),
                                      none_kept, workers, table_for(kernels, device).accelerator());
  double fastest = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    StepTimes times(executor->plan().steps.size(), 0);
    executor->run(tensors, {.context = {1, 0}, .times = &times});
    for (std::size_t i = 0; i < times.size(); ++i)
      if (executor->plan().steps[i].type == type) fastest = std::min(fastest, times[i]);
  }
  return fastest;
}

}  // namespace

RateSizes rate_sizes(DeviceKind kind) {
  return {kind == DeviceKind::gpu ? 8192 : 2048, int64_t{32} << 20};
}

MachineRates measure_rates(const Device& device, DType dtype, const RateSizes& sizes,
                           const std::vector<KernelTable>& kernels, CompileOptions options) {
  options.alias = false;  // in place, the target of the write would not be fetched
  PhiloxSequence random(1, 1);
  const Literal matrix = random_rows(DType::float32, {sizes.side, sizes.side}, 1, random);
  const Literal row = random_rows(DType::float32, {sizes.sweep}, 1, random);
  const auto seconds = [&](const char* type, const std::vector<Literal>& operands, DType of) {
    return fastest_seconds(type, operands, of, device, kernels, options);
  };
  const auto swept = static_cast<double>(2 * sizes.sweep) * sizeof(float);
  return {2 * std::pow(sizes.side, 3) / seconds("MatMul", {matrix, matrix}, dtype),
          swept / seconds("Relu", {row}, DType::float32)};
}

double least_seconds(const Plan& plan, const PlanStep& step, const MachineRates& rates) {
  return std::max(step.flops.products / rates.operations,
                  static_cast<double>(bytes_of_tensors(plan, step)) / rates.bytes);
}

}  // namespace lockstep
