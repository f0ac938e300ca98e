// SPDX-License-Identifier: Apache-2.0
#include "app/inspect/requests.h"

#include <map>
#include <set>

#include "graph/auxiliaries.h"
#include "graph/phases.h"
#include "lockstep/loader.h"
#include "lockstep/operators.h"
#include "runtime/threads/cores.h"

namespace lockstep {
namespace {

constexpr int kMostNodesPlanned = 30000;  // takes some seconds

// The declared shape with every symbol replaced by the batch size.
Dims fed_dims(const Graph& graph, Value input, int64_t batch) {
  Dims dims;
  for (const Dim& dim : graph.shape(input)) dims.push_back(dim.known() ? dim.size() : batch);
  return dims;
}

// The rows of the batch for each input of each replica.
std::map<std::string, int64_t> rows_of_feeds(const SourcedModel& source) {
  std::map<std::string, int64_t> rows;
  for (const StepInput& input : source.model.inputs)
    for (std::size_t k = 0; k < input.values.size(); ++k)
      rows[input.values[k]] = source.shares.rows(static_cast<int64_t>(k), input.part).count;
  return rows;
}

// Prediction as a session runs it: all inputs but states are feeds.
CompileRequest inference_request(const SourcedModel& source, std::vector<Device> devices,
                                 const std::vector<KernelTable>& kernels) {
  const TrainingModel& model = source.model;
  const Graph& graph = model.inference;
  CompileRequest request{.graph = graph,
                         .states = model.state_values(),
                         .devices = std::move(devices),
                         .kernels = kernels};
  const std::set<std::string> states(request.states.begin(), request.states.end());
  for (Value input : graph.inputs()) {
    const std::string& name = graph.name(input);
    if (states.contains(name)) continue;
    request.feeds.push_back(name);
    request.feed_dims.push_back(
        fed_dims(graph, input, source.shares.batch / source.shares.replicas));
  }
  for (Value output : graph.outputs()) request.fetches.push_back(graph.name(output));
  return request;
}

CompileRequest request_of_step(const SourcedModel& source, std::vector<Device> devices,
                               const std::vector<KernelTable>& kernels) {
  check(!source.shares.leave_nothing(),
        "--batch is too small: there are no images for some of the ", source.shares.parts,
        " parts of a replica's share");
  const std::map<std::string, int64_t> rows = rows_of_feeds(source);
  const Graph& graph = source.model.step;
  const auto dims = [&](const std::string& feed) {
    return fed_dims(graph, graph.at(feed), rows.at(feed));
  };
  return step_request(source.model, dims, std::move(devices), kernels);
}

}  // namespace

std::vector<Device> devices_of(const SourcedModel& source, bool inference) {
  std::vector<Device> devices = all_devices(source.run);
  if (devices.empty()) devices = cpu_devices(places_of(source.model));
  if (inference) devices.resize(1);
  return devices;
}

CompileRequest plan_request(const SourcedModel& source, bool inference, std::vector<Device> devices,
                            const std::vector<KernelTable>& kernels) {
  const int threads = source.run.threads > 0
                          ? source.run.threads
                          : threads_per_replica(static_cast<int>(devices_of(source, false).size()));
  CompileRequest request = inference ? inference_request(source, std::move(devices), kernels)
                                     : request_of_step(source, std::move(devices), kernels);
  request.options.threads = threads;
  request.options.tf32 = source.run.tf32;
  request.options.exact = source.run.exact;
  return request;
}

int64_t rows_of_replica(const SourcedModel& source, int replica) {
  int64_t rows = 0;
  for (int64_t part = 0; part < source.shares.parts; ++part)
    rows += source.shares.rows(replica, part).count;
  return rows;
}

PlannedMemory memory_with_loader(const SourcedModel& source, const CompileRequest& request,
                                 const Plan& plan) {
  PlannedMemory memory = planned_memory(plan);
  for (std::size_t i = 0; i < request.feeds.size(); ++i) {
    const Value input = request.graph.at(request.feeds[i]);
    memory.loader += element_count(request.feed_dims[i]) * size_of(request.graph.dtype(input));
  }
  if (source.configured) memory.loader *= Loader::kAhead;
  return memory;
}

LookedAt looked_at(const SourcedModel& source) {
  LookedAt seen;
  const Graph& graph = main_graph(source.model);
  const bool inference = source.model.step.node_count() == 0;
  if (graph.node_count() > kMostNodesPlanned) {
    seen.why = join("a graph of ", graph.node_count(),
                    " nodes is planned by `lockstep plan` only, not for a summary");
    return seen;
  }
  try {
    CompileRequest request =
        plan_request(source, inference, devices_of(source, inference), all_kernels());
    request.limits_memory = false;
    seen.plan = compile(request);
    seen.memory = memory_with_loader(source, request, *seen.plan);
  } catch (const Error& error) {
    seen.why = error.what();
  }
  return seen;
}

}  // namespace lockstep
