// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/compile.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/passes/bind.h"
#include "graph/passes/postpone.h"
#include "graph/step_fetches.h"
#include "runtime/kernel/rewrite.h"
#include "runtime/plan/aliases.h"
#include "runtime/plan/arenas.h"
#include "runtime/plan/fixed.h"
#include "runtime/plan/fold.h"
#include "runtime/plan/late_meetings.h"
#include "runtime/plan/layouts.h"
#include "runtime/plan/requests.h"
#include "runtime/plan/waits.h"
#include "runtime/plan/workers_of_nodes.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

class Compiler {
 public:
  explicit Compiler(const CompileRequest& request) : request_(request) {}

  Plan run() {
    plan_.name = request_.graph.name();
    plan_.threads = request_.options.threads;
    plan_.states = request_.states;
    for (std::size_t i = 0; i < plan_.states.size(); ++i)
      state_numbers_.emplace(plan_.states[i], static_cast<int>(i));

    const ThreadLimit limit(plan_.threads);
    Graph bound =
        share(bind());  // 1. shapes of this batch, constants, pruning; what replicas share
    // 2. fusions, and on GPUs kept copies, per device
    Known known{seen_by_others(), request_.updates};
    known.states = {request_.states.begin(), request_.states.end()};
    known.exact = request_.options.exact;
    known.one_memory = in_host_memory();
    bound = rewrite(std::move(bound), known, &Rewrites::before_layouts);
    put_communication_late(bound);   // 3. order: queues overlap, workers seldom meet
    bound = lay_out_tensors(bound);  // 4. layouts, reorders where kernels disagree, kept copies
    find_fixed_part(bound);          // 5. what need not run again
    number_values(bound);            // 6. values become numbers, each on its replica's worker
    list_feeds(bound);
    list_results(bound);
    if (in_host_memory()) check_values(plan_);
    choose_kernels(bound);  // 7. one step per node and worker
    // 8. state in place, views, operands overwritten
    find_aliases(plan_, {ops_, updates_, fixed_.nodes, request_.options.alias});
    lay_out_arenas(plan_, request_);  // 9. lifetimes, then offsets in one arena per worker
    if (in_host_memory()) check_arenas(plan_);
    plan_waits(plan_);  // 10. waits for other workers
    plan_.kept_identity = kept_identity(plan_, bound);
    return std::move(plan_);
  }

 private:
  Graph bind() {
    std::map<std::string, Dims> feeds;
    for (std::size_t i = 0; i < request_.feeds.size(); ++i)
      feeds[request_.feeds[i]] = request_.feed_dims[i];
    std::vector<std::string> wanted = request_.fetches;
    for (const Binding& update : request_.updates) wanted.push_back(update.value);
    return bind_shapes(request_.graph, feeds, wanted, folder_for(request_.kernels),
                       request_.owners);
  }

  // Replicas in host memory read one copy of what is equal on all of them.
  Graph share(Graph bound) {
    if (!request_.options.share || !in_host_memory() || request_.common.states.empty())
      return bound;
    Shared shared =
        share_states(std::move(bound), request_.common, request_.updates, request_.fetches);
    request_.updates = std::move(shared.updates);
    for (const std::size_t one : shared.states) {
      plan_.shared.emplace_back();
      for (const std::string& name : request_.common.states[one])
        plan_.shared.back().push_back(state_number(name));
    }
    if (!shared.note.empty()) plan_.notes.push_back(shared.note);
    return std::move(shared.graph);
  }

  std::set<std::string> seen_by_others() const {
    std::set<std::string> seen(request_.fetches.begin(), request_.fetches.end());
    for (const Binding& update : request_.updates) seen.insert(update.value);
    return seen;
  }

  Graph rewrite(Graph graph, Known& known, std::vector<Rewrite> Rewrites::*passes) {
    if (!request_.options.rewrites) return graph;
    for (const KernelTable& table : request_.kernels) {
      if (table.kind() != request_.devices[0].kind) continue;
      for (Rewrite pass : table.rewrites().*passes) {
        Rewritten result = pass(graph, known);
        graph = std::move(result.graph);
        plan_.notes.insert(plan_.notes.end(), result.notes.begin(), result.notes.end());
        for (const Binding& kept : result.kept) {
          known.values.insert({kept.state, kept.value});
          kept_.push_back(kept);
        }
      }
    }
    return graph;
  }

  void put_communication_late(Graph& bound) const {
    const auto communicates = [](const Node& node) {
      return node.op()->collective || node.op()->exchange;
    };
    if (communication_has_queues(request_.devices))
      return postpone_what_follows(bound, communicates);
    postpone(bound, late_meetings(bound, last_communication(bound, communicates)));
  }

  Graph lay_out_tensors(Graph& bound) {
    LaidOut laid = request_.options.layouts ? lay_out(bound, request_) : in_rows(bound);
    layouts_ = std::move(laid.layouts);
    layouts_.resize(static_cast<std::size_t>(laid.graph.value_count()));
    fetched_ = std::move(laid.fetched);
    updated_ = std::move(laid.updated);
    return rewrite_laid_out(std::move(laid.graph));
  }

  LaidOut in_rows(Graph& bound) const {
    std::vector<Value> fetched, updated;
    for (const std::string& fetch : request_.fetches) fetched.push_back(bound.at(fetch));
    for (const Binding& update : request_.updates) updated.push_back(bound.at(update.value));
    return {std::move(bound), {}, std::move(fetched), std::move(updated)};
  }

  // Names stay; a value that is kept for the next run lies as what it takes the place of.
  Graph rewrite_laid_out(Graph laid) {
    Known known{seen_by_others(), request_.updates};
    known.one_memory = in_host_memory();
    std::unordered_map<std::string, Layout> layout_of;
    for (int id = 0; id < laid.value_count(); ++id) {
      const std::string& name = laid.name({id});
      const Layout layout = layout_of[name] = layouts_[static_cast<std::size_t>(id)];
      if (layout.is_tiles()) known.filter_layouts.insert({name, layout});
    }
    const auto names_of = [&](const std::vector<Value>& values) {
      std::vector<std::string> names;
      for (Value value : values) names.push_back(laid.name(value));
      return names;
    };
    const std::vector<std::string> fetched = names_of(fetched_), updated = names_of(updated_);
    const std::size_t before = kept_.size();
    laid = rewrite(std::move(laid), known, &Rewrites::after_layouts);
    for (std::size_t i = before; i < kept_.size(); ++i)
      layout_of[kept_[i].value] = layout_of.at(kept_[i].state);
    layouts_.clear();
    for (int id = 0; id < laid.value_count(); ++id)
      layouts_.push_back(layout_of.at(laid.name({id})));
    const auto find = [&](const std::vector<std::string>& names, std::vector<Value>& values) {
      std::ranges::transform(names, values.begin(),
                             [&](const std::string& name) { return laid.at(name); });
    };
    find(fetched, fetched_);
    find(updated, updated_);
    return laid;
  }

  void find_fixed_part(Graph& bound) {
    std::vector<Value> results = fetched_;
    results.insert(results.end(), updated_.begin(), updated_.end());
    fixed_ = put_fixed_part_first(bound, request_, results, kept_);
  }

  bool in_host_memory() const { return request_.devices[0].info().in_host_memory; }

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

  void number_values(const Graph& bound) {
    for (int id = 0; id < bound.value_count(); ++id) {
      Value value{id};
      Slot slot{bound.name(value),
                {bound.dtype(value), to_dims(bound.shape(value)), layouts_[id]},
                0,
                Lives::in_arena,
                -1};
      slot.worker = worker_of_value(bound, value, request_);
      if (const Literal* literal = bound.literal(value)) {
        slot.lives = Lives::as_constant;
        slot.index = static_cast<int>(plan_.literals.size());
        plan_.literals.push_back(*literal);
      }
      plan_.slots.push_back(std::move(slot));
    }
    number_states(bound);
  }

  void number_states(const Graph& bound) {
    plan_.state_descs.resize(plan_.states.size());
    plan_.state_workers.resize(plan_.states.size(), 0);
    for (Value input : bound.inputs()) {
      int state = state_number(bound.name(input));
      if (state < 0) continue;
      Slot& slot = plan_.slots[input.id];
      slot.lives = Lives::in_state;
      slot.index = state;
      plan_.state_descs[state] = slot.desc;
      plan_.state_workers[state] = slot.worker;
    }
    for (const Binding& kept : kept_) keep(bound.at(kept.state));
    for (Value kept : fixed_.kept) keep(kept);
    check_makers(bound);
  }

  void keep(Value value) {
    Slot& slot = plan_.slots[value.id];
    slot.lives = Lives::in_state;
    slot.index = static_cast<int>(plan_.states.size());
    plan_.states.push_back(slot.name);
    plan_.state_descs.push_back(slot.desc);
    plan_.state_workers.push_back(slot.worker);
    plan_.kept.push_back(0);
  }

  // What makes them runs before a run, so it must find its operands there.
  void check_makers(const Graph& bound) const {
    for (const Binding& kept : kept_)
      for (Value operand : bound.producer(bound.at(kept.state))->inputs())
        check(plan_.slots[operand.id].lives == Lives::in_state, "internal: '", kept.state,
              "' is made of '", bound.name(operand), "', which is no state");
  }

  void list_feeds(const Graph& bound) {
    for (const std::string& feed : request_.feeds) plan_.feeds.push_back(bound.find(feed).id);
    std::vector<int> fed(plan_.slots.size(), 0);
    for (int feed : plan_.feeds)
      if (feed >= 0) ++fed[feed];
    for (Value input : bound.inputs())
      check(plan_.slots[input.id].lives == Lives::in_state || fed[input.id] == 1, "input '",
            bound.name(input), "' is neither fed nor state");
  }

  // What is read after a run, and what a state takes.
  void list_results(const Graph& bound) {
    for (Value fetch : fetched_) plan_.fetches.push_back(fetch.id);
    for (std::size_t i = 0; i < updated_.size(); ++i) {
      const Binding& update = request_.updates[i];
      int state = state_number(update.state);
      check(state >= 0, "binding: unknown state '", update.state, "'");
      take_update(update, state, updated_[i].id);
    }
    for (std::size_t i = 0; i < kept_.size(); ++i)
      take_update(kept_[i], static_cast<int>(plan_.session_states() + i),
                  bound.at(kept_[i].value).id);
  }

  void take_update(const Binding& update, int state, int slot) {
    TensorDesc& desc = plan_.state_descs[state];
    check(!desc.present() || desc == plan_.slots[slot].desc, "state '", update.state, "' is ", desc,
          " but its new value '", update.value, "' is ", plan_.slots[slot].desc);
    if (!desc.present()) plan_.state_workers[state] = plan_.slots[slot].worker;
    desc = plan_.slots[slot].desc;
    updates_.push_back({state, slot});
  }

  void choose_kernels(const Graph& bound) {
    WorkersOfNodes workers(bound, request_.devices);
    plan_.workers = workers.all();
    for (int index = 0; index < bound.node_count(); ++index) {
      const Node node = bound.node(index);
      plan_.exchanges = plan_.exchanges || node.op()->exchange;
      std::vector<int> replicas;
      if (node.op()->collective) {
        for (Value output : node.outputs()) {
          check(output || in_host_memory(), node.description(),
                ": each of its replicas needs an output");
          if (output) replicas.push_back(replica_with_device(node, replica_of(bound, output)));
        }
      } else {
        replicas.push_back(replica_with_device(node, std::max(node.replica(), 0)));
      }
      for (std::size_t part = 0; part < replicas.size(); ++part)
        add_step(node, replicas, part, workers.of(node, replicas[part]));
      ops_.push_back(node.op());
    }
  }

  // Adds part `part` of the participating `replicas`, on `worker`.
  void add_step(const Node& node, const std::vector<int>& replicas, std::size_t part, int worker) {
    PlanStep step;
    step.name = node.name();
    step.type = node.type();
    step.node = node.index();
    step.worker = worker;
    step.part = static_cast<int>(part);
    step.parts = static_cast<int>(replicas.size());
    for (Value input : node.inputs()) step.in.push_back(input.id);
    for (Value output : node.outputs()) step.out.push_back(output.id);
    Worker& runs = plan_.workers[worker];
    const StepPlace place{replicas, part, runs.device, runs.communicates() ? 1 : plan_.threads};
    const KernelRequest asked =
        request_of(node, place, request_, [this](Value value) { return layouts_[value.id]; });
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

  CompileRequest request_;  // its updates: those that remain after share()
  Plan plan_;
  std::vector<Binding> kept_;  // by rewrites
  FixedPart fixed_;
  std::vector<StateUpdate> updates_;
  std::vector<const Op*> ops_;
  std::unordered_map<std::string, int> state_numbers_;
  std::vector<Layout> layouts_;           // by value
  std::vector<Value> fetched_, updated_;  // as in the request
};

}  // namespace

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

Plan compile(const CompileRequest& request) {
  check(!request.devices.empty(), "a plan needs at least one device");
  for (Device device : request.devices)
    check(device.kind == request.devices[0].kind, "all devices of a run must be of one kind, not ",
          request.devices[0], " and ", device);
  return Compiler(request).run();
}

}  // namespace lockstep
