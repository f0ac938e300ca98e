// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/compile.h"

#include <algorithm>
#include <future>
#include <unordered_map>

#include "graph/flops.h"
#include "graph/placement.h"
#include "graph/step_fetches.h"
#include "runtime/plan/aliases.h"
#include "runtime/plan/arenas.h"
#include "runtime/plan/bound_graph.h"
#include "runtime/plan/kernel_requests.h"
#include "runtime/plan/waits.h"
#include "runtime/plan/workers_of_nodes.h"
#include "runtime/threads/thread_limit.h"

namespace lockstep {
namespace {

// Passes 6 and 7: values get numbers, nodes become steps.
class PlanSteps {
 public:
  PlanSteps(const BoundGraph& step, const CompileRequest& request, Plan& plan)
      : step_(step), request_(request), plan_(plan) {
    for (std::size_t i = 0; i < plan_.states.size(); ++i)
      state_numbers_.emplace(plan_.states[i], static_cast<int>(i));
    for (const std::size_t one : step.shared) {
      plan_.shared.emplace_back();
      for (const std::string& name : request.common.states[one])
        plan_.shared.back().push_back(state_number(name));
    }
  }

  // Fills the plan and returns its state updates.
  std::vector<StateUpdate> write() {
    number_values();  // 6. each value on its replica's worker
    list_feeds();
    list_results();
    if (in_host_memory(request_)) check_values(plan_);
    choose_kernels();  // 7. one step per node and worker
    return std::move(updates_);
  }

 private:
  int replica_with_device(const Node& node, int replica) const {
    if (replica < static_cast<int>(request_.devices.size())) return replica;
    int last = replica;
    for (int i = 0; i < node.graph().node_count(); ++i)
      last = std::max(last, node.graph().node(i).replica());
    fail(node.description(), ": the graph is for ", last + 1, " replicas, but there are ",
         request_.devices.size(), " devices");
  }

  int state_number(const std::string& name) const {
    auto found = state_numbers_.find(name);
    return found == state_numbers_.end() ? -1 : found->second;
  }

  void number_values() {
    const Graph& bound = step_.graph;
    for (int id = 0; id < bound.value_count(); ++id) {
      Value value{id};
      Slot slot{bound.name(value),
                {bound.dtype(value), to_dims(bound.shape(value)), step_.layouts[id]},
                0,
                Storage::in_arena,
                -1};
      slot.worker = worker_of_value(bound, value, request_);
      if (const Literal* literal = bound.literal(value)) {
        slot.storage = Storage::as_constant;
        slot.index = static_cast<int>(plan_.literals.size());
        plan_.literals.push_back(*literal);
      }
      plan_.slots.push_back(std::move(slot));
    }
    number_states();
  }

  void number_states() {
    const Graph& bound = step_.graph;
    plan_.state_descs.resize(plan_.states.size());
    plan_.state_workers.resize(plan_.states.size(), 0);
    for (Value input : bound.inputs()) {
      int state = state_number(bound.name(input));
      if (state < 0) continue;
      Slot& slot = plan_.slots[input.id];
      slot.storage = Storage::in_state;
      slot.index = state;
      plan_.state_descs[state] = slot.desc;
      plan_.state_workers[state] = slot.worker;
    }
    for (const CachedValue& kept : step_.kept) keep(kept.state);
    for (Value kept : step_.fixed.kept) keep(kept);
    check_makers();
  }

  void keep(Value value) {
    Slot& slot = plan_.slots[value.id];
    slot.storage = Storage::in_state;
    slot.index = static_cast<int>(plan_.states.size());
    plan_.states.push_back(slot.name);
    plan_.state_descs.push_back(slot.desc);
    plan_.state_workers.push_back(slot.worker);
    plan_.kept.push_back(0);
  }

  // Throws unless makers of kept copies read only states: they run before the run, so other
  // operands do not exist yet.
  void check_makers() const {
    const Graph& bound = step_.graph;
    for (const CachedValue& kept : step_.kept)
      for (Value operand : bound.producer(kept.state)->inputs())
        check(plan_.slots[operand.id].storage == Storage::in_state, "internal: '",
              bound.name(kept.state), "' is made of '", bound.name(operand),
              "', which is no state");
  }

  void list_feeds() {
    const Graph& bound = step_.graph;
    for (const std::string& feed : request_.feeds) plan_.feeds.push_back(bound.find(feed).id);
    std::vector<int> fed(plan_.slots.size(), 0);
    for (int feed : plan_.feeds)
      if (feed >= 0) ++fed[feed];
    for (Value input : bound.inputs())
      check(plan_.slots[input.id].storage == Storage::in_state || fed[input.id] == 1, "input '",
            bound.name(input), "' is neither fed nor state");
  }

  // Lists the slots that are read after a run and the new values of states.
  void list_results() {
    for (Value fetch : step_.fetched) plan_.fetches.push_back(fetch.id);
    for (std::size_t i = 0; i < step_.updated.size(); ++i) {
      const std::string& name = request_.updates[i].state;
      const int state = state_number(name);
      check(state >= 0, "binding: unknown state '", name, "'");
      take_update(state, step_.updated[i]);
    }
    for (std::size_t i = 0; i < step_.kept.size(); ++i)
      take_update(static_cast<int>(plan_.session_states() + i), step_.kept[i].value);
  }

  void take_update(int state, Value value) {
    TensorDesc& desc = plan_.state_descs[state];
    const Slot& slot = plan_.slots[value.id];
    check(!desc.present() || desc == slot.desc, "state '", plan_.states[state], "' is ", desc,
          " but its new value '", slot.name, "' is ", slot.desc);
    if (!desc.present()) plan_.state_workers[state] = slot.worker;
    desc = slot.desc;
    updates_.push_back({state, value.id});
  }

  void choose_kernels() {
    const Graph& bound = step_.graph;
    WorkersOfNodes workers(bound, request_.devices);
    plan_.workers = workers.all();
    for (int index = 0; index < bound.node_count(); ++index) {
      const Node node = bound.node(index);
      plan_.exchanges = plan_.exchanges || node.op()->exchange;
      std::vector<int> replicas;
      if (node.op()->collective) {
        for (Value output : node.outputs()) {
          check(output || in_host_memory(request_), node.description(),
                ": each of its replicas needs an output");
          if (output) replicas.push_back(replica_with_device(node, replica_of(bound, output)));
        }
      } else {
        replicas.push_back(replica_with_device(node, std::max(node.replica(), 0)));
      }
      for (std::size_t part = 0; part < replicas.size(); ++part)
        add_step(node, replicas, part, workers.of(node, replicas[part]));
    }
  }

  // Adds part `part` of a node of `replicas`, on `worker`.
  void add_step(const Node& node, const std::vector<int>& replicas, std::size_t part, int worker) {
    PlanStep step;
    step.name = node.name();
    step.type = node.type();
    step.node = node.index();
    step.worker = worker;
    step.part = static_cast<int>(part);
    step.parts = static_cast<int>(replicas.size());
    if (const auto flops = flops_of(node))
      step.flops = {flops->products / step.parts, flops->others / step.parts};
    for (Value input : node.inputs()) step.in.push_back(input.id);
    for (Value output : node.outputs()) step.out.push_back(output.id);
    Worker& runs = plan_.workers[worker];
    const StepPlace place{replicas, part, runs.device, runs.communicates() ? 1 : plan_.threads};
    const KernelRequest asked =
        request_of(node, place, request_, [this](Value value) { return step_.layouts[value.id]; });
    try {
      ChosenKernel choice = table_for(request_.kernels, place.device).choose(asked);
      step.kernel = std::move(choice.kernel);
      step.candidate = std::move(choice.candidate);
      step.refused = std::move(choice.refused);
    } catch (const std::exception& error) {
      const auto* known = dynamic_cast<const Error*>(&error);
      if (known && known->subject().node == node.name()) throw;
      rethrow_as(error, node, ": ", error.what());
    }
    runs.steps.push_back(static_cast<int>(plan_.steps.size()));
    plan_.steps.push_back(std::move(step));
  }

  const BoundGraph& step_;
  const CompileRequest& request_;
  Plan& plan_;
  std::vector<StateUpdate> updates_;
  std::unordered_map<std::string, int> state_numbers_;
};

std::vector<const Op*> ops_of(const Graph& graph) {
  std::vector<const Op*> ops;
  for (int index = 0; index < graph.node_count(); ++index) ops.push_back(graph.node(index).op());
  return ops;
}

}  // namespace

bool in_host_memory(const CompileRequest& request) {
  return request.devices[0].info().in_host_memory;
}

CompileRequest step_request(const TrainingModel& model,
                            const std::function<Dims(const std::string& feed)>& dims,
                            std::vector<Device> devices, const std::vector<KernelTable>& kernels,
                            const CompileOptions& options) {
  CompileRequest request{.graph = model.step,
                         .feeds = model.feed_values(),
                         .fetches = step_fetches(model),
                         .states = model.state_values(),
                         .updates = model.updates,
                         .devices = std::move(devices),
                         .kernels = kernels,
                         .options = options};
  for (const std::string& feed : request.feeds) request.feed_dims.push_back(dims(feed));
  request.owners = model.owners();
  request.chooses_state_layouts = true;
  request.common = in_common(model);
  return request;
}

namespace {

Plan compile_here(const CompileRequest& request) {
  check(!request.devices.empty(), "a plan needs at least one device");
  for (Device device : request.devices)
    check(device.kind == request.devices[0].kind, "all devices of a run must be of one kind, not ",
          request.devices[0], " and ", device);

  const ThreadLimit limit(request.options.threads);
  const BoundGraph step = bound_graph(request);
  CompileRequest here = request;
  here.updates = step.updates;
  Plan plan;
  plan.name = request.graph.name();
  plan.is_recorded = request.options.record;
  plan.threads = request.options.threads;
  plan.states = request.states;
  plan.notes = step.notes;
  const std::vector<StateUpdate> updates = PlanSteps(step, here, plan).write();
  // 8. state in place, views, operands overwritten
  find_aliases(plan, {ops_of(step.graph), updates, step.fixed.nodes, request.options.alias});
  lay_out_arenas(plan, here);  // 9. lifetimes, then offsets in one arena per worker
  if (request.limits_memory && in_host_memory(request)) check_arenas(plan);
  plan_waits(plan);  // 10. waits for other workers
  plan.cache_identity = cache_identity(plan, step.graph);
  return plan;
}

}  // namespace

// Inside an OpenMP region of the program, oneDNN would plan for one thread.
Plan compile(const CompileRequest& request) {
  if (!in_parallel_region()) return compile_here(request);
  return std::async(std::launch::async, [&] { return compile_here(request); }).get();
}

}  // namespace lockstep
