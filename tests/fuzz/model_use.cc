// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/model_use.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>

#include "app/inspect/figures.h"
#include "app/inspect/graph_json.h"
#include "app/inspect/plan_json.h"
#include "app/inspect/requests.h"
#include "app/inspect/summary.h"
#include "app/pages/graph_page.h"
#include "graph/dot.h"
#include "graph/phases.h"
#include "graph/print.h"
#include "graph/summary.h"
#include "graph/verify.h"
#include "lockstep/operators.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "tests/fuzz/fuzz.h"

namespace lockstep::fuzz {
namespace {

constexpr int kFewNodes = 200;
constexpr std::size_t kFewBytes = 32 << 10;  // keeps each kernel's run short

Dims fed_dims(const Graph& graph, const std::string& feed) {
  Dims dims;
  for (const Dim& dim : graph.shape(graph.at(feed))) dims.push_back(dim.known() ? dim.size() : 2);
  return dims;
}

CompileRequest inference_request(const TrainingModel& model) {
  const Graph& graph = model.inference;
  CompileRequest request{.graph = graph,
                         .states = model.state_values(),
                         .devices = cpu_devices(1),
                         .kernels = all_kernels()};
  const std::set<std::string> states(request.states.begin(), request.states.end());
  for (Value input : graph.inputs())
    if (const std::string& name = graph.name(input); !states.count(name)) {
      request.feeds.push_back(name);
      request.feed_dims.push_back(fed_dims(graph, name));
    }
  for (Value output : graph.outputs()) request.fetches.push_back(graph.name(output));
  return request;
}

std::size_t bytes_of(const Plan& plan, const std::vector<Dims>& fed) {
  std::size_t bytes = 0;
  for (const Worker& worker : plan.workers) bytes += worker.arena_bytes;
  for (const Literal& literal : plan.literals) bytes += literal.bytes().size();
  for (const TensorDesc& state : plan.state_descs) bytes += state.bytes();
  for (const Dims& dims : fed)
    bytes += 8 * static_cast<std::size_t>(std::min<int64_t>(element_count(dims), kFewBytes));
  return bytes;
}

// Small numbers of both signs, so that some indices are out of range.
Literal fed_value(DType type, const Dims& dims) {
  Literal value(type, dims);
  const std::size_t size = size_of(type);
  for (std::size_t i = 0; i < value.bytes().size() / size; ++i) {
    const auto number = static_cast<int>(i % 5) - 1;
    std::byte* at = value.bytes().data() + i * size;
    const float real = 0.25F * static_cast<float>(number);
    if (type == DType::float32)
      std::memcpy(at, &real, size);
    else if (type == DType::boolean)
      *at = std::byte(i % 2);
    else if (!is_floating(type))
      std::fill(at, at + size, std::byte(number < 0 ? 0xFF : 0)), *at = std::byte(number);
  }
  return value;
}

void run(Plan plan, const std::vector<Dims>& dims) {
  std::vector<Literal> values;
  std::vector<Tensor> feeds;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (plan.feeds[i] < 0) {
      feeds.push_back({{DType::float32, dims[i]}, nullptr});
      continue;
    }
    const DType type = plan.slots[plan.feeds[i]].desc.dtype;
    values.push_back(fed_value(type, dims[i]));
    feeds.push_back(view_of(values.back()));
  }
  States state(plan.states, plan.state_descs);
  Workers workers(static_cast<int>(plan.workers.size()), 1);
  make_executor(std::move(plan), state, workers)->run(feeds, {});
}

// As `lockstep inspect` does, with a plan.
void print_figures(const SourcedModel& source) {
  const ModelFigures figures = figures_of(source);
  const LookedAt planned =
      main_graph(source.model).node_count() > kFewNodes ? LookedAt{} : looked_at(source);
  std::ostringstream documents;
  documents << summary_of(source, figures, planned, true);
  write_json(documents, source, figures, planned);
  if (planned.plan) write_json(documents, *planned.plan, planned.memory);
  write_graph_page(documents, source, figures, planned, {.title = source.model.inference.name()});
}

}  // namespace

SourcedModel with_two_rows(LoadedModel file) {
  SourcedModel source{std::move(file), RunSettings{.devices = {}, .threads = 1}, {}};
  BatchShares& shares = source.shares;
  shares.replicas = source.model.replicas;
  for (const StepInput& input : source.model.inputs)
    shares.parts = std::max<int64_t>(shares.parts, input.part + 1);
  shares.batch = 2 * shares.count();
  return source;
}

void print_and_verify(const SourcedModel& source) {
  const TrainingModel& model = source.model;
  summary_of(model);
  text_of(model, {.where = true});
  order_of(model);
  dot_of(main_graph(model));
  dot_of(main_graph(model), {.depth = 1});
  print_figures(source);
  verify(model);
}

void plan_and_run(const TrainingModel& model) {
  const bool trains = model.step.node_count() > 0;
  const Graph& graph = trains ? model.step : model.inference;
  if (graph.node_count() > kFewNodes) return;
  const CompileRequest request =
      trains ? step_request(
                   model, [&](const std::string& feed) { return fed_dims(graph, feed); },
                   cpu_devices(model.replicas), all_kernels())
             : inference_request(model);
  Plan plan = compile(request);
  text_of(plan);
  if (bytes_of(plan, request.feed_dims) > kFewBytes) return;
  // A step may fail while it runs, but may not write out of bounds.
  try {
    run(std::move(plan), request.feed_dims);
  } catch (const std::exception&) {
  }
}

}  // namespace lockstep::fuzz
