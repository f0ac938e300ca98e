// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/aliases.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "runtime/accelerator.h"
#include "runtime/kernel/moving_view.h"
#include "runtime/plan/compile.h"

namespace lockstep {
namespace {

constexpr int kToTheEnd = INT_MAX;

class StorageAssigner {
 public:
  StorageAssigner(Plan& plan, const AliasRequest& request) : plan_(plan), request_(request) {
    steps_of_node_.resize(request.nodes());
    for (int i = 0; i < static_cast<int>(plan.steps.size()); ++i)
      steps_of_node_[plan.steps[i].node].push_back(i);
    find_uses();
  }

  void run() {
    place_updates();  // before the feeds: a feed that becomes a state's new value is needed to the
                      // end
    for (int feed : plan_.feeds)
      if (feed >= 0) new_block(feed, -1);
    for (int node = 0; node < request_.nodes(); ++node) place_outputs(node);
    drop_views();
    append_copies();
    keep_communication_apart();
    count_bytes();
  }

 private:
  void find_uses() {
    last_use_.assign(plan_.slots.size(), -1);
    readers_.resize(plan_.slots.size());
    made_by_.assign(plan_.slots.size(), -1);
    target_.assign(plan_.slots.size(), -1);
    is_view_.assign(request_.nodes(), false);
    view_of_.assign(request_.nodes(), -1);
    for (int node = 0; node < request_.nodes(); ++node) {
      for (int slot : first_step(node).in)
        if (slot >= 0) {
          last_use_[slot] = node;
          readers_[slot].push_back(node);
        }
      for (int slot : first_step(node).out)
        if (slot >= 0) {
          made_by_[slot] = node;
          last_use_[slot] = std::max(last_use_[slot], node);  // made even if unread
        }
    }
    for (int slot : plan_.fetches) last_use_[slot] = kToTheEnd;
    is_update_.assign(plan_.slots.size(), false);
    for (const StateUpdate& update : request_.updates) is_update_[update.slot] = true;
  }

  const Worker& worker_of(int node) const { return plan_.workers[first_step(node).worker]; }
  const PlanStep& first_step(int node) const { return plan_.steps[steps_of_node_[node][0]]; }

  // Returns the nodes that read this slot or a view of it.
  std::vector<int> readers_through_views(int slot) const {
    std::vector<int> nodes = readers_[slot];
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!request_.ops[nodes[i]]->view) continue;
      const auto& more = readers_[first_step(nodes[i]).out[0]];
      nodes.insert(nodes.end(), more.begin(), more.end());
    }
    return nodes;
  }

  // A new value is computed directly into its state if no step reads the old value afterwards.
  // Otherwise a copy follows all nodes.
  void place_updates() {
    std::vector<int> slot_of(plan_.states.size(), -1);
    for (std::size_t i = 0; i < plan_.slots.size(); ++i)
      if (plan_.slots[i].storage == Storage::in_state)
        slot_of[plan_.slots[i].index] = static_cast<int>(i);
    for (const StateUpdate& update : request_.updates) {
      int maker = made_by_[update.slot];
      int old = slot_of[update.state];
      bool fits =
          request_.alias && maker >= 0 && target_[update.slot] < 0 &&
          plan_.slots[update.slot].storage == Storage::in_arena &&
          in_one_memory(plan_.slots[update.slot].worker, plan_.state_workers[update.state]) &&
          (old < 0 || may_overwrite(old, maker, update.slot));
      if (fits) {
        target_[update.slot] = update.state;
      } else {
        copies_.push_back(update);
        last_use_[update.slot] = kToTheEnd;  // the copy comes after all nodes
      }
    }
  }

  // True if both workers use the same memory. All workers have devices of one kind.
  bool in_one_memory(int worker, int other) const {
    return worker == other || plan_.workers[worker].device.info().in_host_memory;
  }

  bool may_overwrite(int old, int maker, int slot) const {
    if (last_use_[old] == kToTheEnd) return false;
    for (int reader : readers_through_views(old)) {
      if (reader > maker || would_wait_for_communication(maker, reader)) return false;
      if (reader == maker && !listed_as_alias(maker, slot, old)) return false;
    }
    return true;
  }

  // True if computation that overwrites an operand of communication would wait for the
  // communication.
  bool would_wait_for_communication(int maker, int reader) const {
    return !worker_of(maker).communicates() && worker_of(reader).communicates();
  }

  int behind_views(int slot) const {
    while (made_by_[slot] >= 0 && request_.ops[made_by_[slot]]->view)
      slot = first_step(made_by_[slot]).in[0];
    return slot;
  }

  bool listed_as_alias(int node, int out_slot, int in_slot) const {
    const PlanStep& step = first_step(node);
    const auto output = std::find(step.out.begin(), step.out.end(), out_slot) - step.out.begin();
    for (std::size_t input = 0; input < step.in.size(); ++input)
      if (step.in[input] >= 0 && behind_views(step.in[input]) == in_slot &&
          !request_.ops[node]->allows_alias(static_cast<int>(output), static_cast<int>(input)))
        return false;
    return true;
  }

  void new_block(int slot, int first) {
    Slot& of = plan_.slots[slot];
    of.storage = Storage::in_arena;
    of.index = static_cast<int>(plan_.blocks.size());
    plan_.blocks.push_back({of.worker, of.desc.bytes(), 0, first, last_use_[slot]});
  }

  void place_outputs(int node) {
    const PlanStep& step = first_step(node);
    const Op& op = *request_.ops[node];
    std::vector<int> taken;  // blocks that already hold an output of this node
    for (std::size_t i = 0; i < step.out.size(); ++i) {
      int slot = step.out[i];
      if (slot < 0 || is_kept(slot)) continue;
      if (target_[slot] >= 0) {
        plan_.slots[slot].storage = Storage::in_state;
        plan_.slots[slot].index = target_[slot];
        ++plan_.in_place;
      } else if (i == 0 && op.view && can_view(node)) {
        share(slot, step.in[0]);
        is_view_[node] = true;
        ++plan_.views;
      } else if (i == 0 && can_move(node)) {
        share(slot, step.in[0]);
        plan_.slots[slot].view = view_of_[node] = static_cast<int>(plan_.moving_views.size());
        plan_.moving_views.emplace_back();
      } else if (int over = operand_to_overwrite(node, static_cast<int>(i), taken); over >= 0) {
        share(slot, over);
        taken.push_back(plan_.slots[slot].index);
        ++plan_.in_place;
      } else {
        new_block(slot, node);
      }
    }
  }

  void share(int slot, int with) {
    plan_.slots[slot].storage = plan_.slots[with].storage;
    plan_.slots[slot].index = plan_.slots[with].index;
    plan_.slots[slot].view = plan_.slots[with].view;
    if (plan_.slots[slot].storage == Storage::in_arena) {
      Block& block = plan_.blocks[plan_.slots[slot].index];
      block.last = std::max(block.last, last_use_[slot]);
    }
  }

  bool can_view(int node) const {
    const PlanStep& step = first_step(node);
    const Slot& from = plan_.slots[step.in[0]];
    const Slot& to = plan_.slots[step.out[0]];
    if (!request_.alias || from.worker != to.worker || from.desc.bytes() != to.desc.bytes())
      return false;
    bool kept = last_use_[step.out[0]] == kToTheEnd || is_update(step.out[0]);
    return from.storage == Storage::in_arena || !kept;
  }

  // True if output 0 may be a view into a state, bound anew before each run. A recorded run needs
  // fixed addresses, and a value that is read after the run, or kept, needs separate memory.
  bool can_move(int node) const {
    const PlanStep& step = first_step(node);
    const MovingView* part = moving_view_of(*step.kernel);
    if (!part || !request_.alias || refreshes(node) || worker_of(node).device.info().has_queues)
      return false;
    const Slot& from = plan_.slots[step.in[0]];
    const int to = step.out[0];
    const std::size_t aligned = worker_of(node).device.info().alignment;
    const auto fed = [&](int slot) {
      return std::find(plan_.feeds.begin(), plan_.feeds.end(), slot) != plan_.feeds.end();
    };
    return from.storage == Storage::in_state && from.view < 0 &&
           from.worker == plan_.slots[to].worker && last_use_[to] != kToTheEnd && !is_update(to) &&
           std::none_of(request_.updates.begin(), request_.updates.end(),
                        [&](const StateUpdate& update) { return update.state == from.index; }) &&
           part->alignment() > 0 && part->alignment() % aligned == 0 &&
           std::all_of(step.in.begin() + 1, step.in.end(), fed);
  }

  bool is_update(int slot) const { return is_update_[slot]; }
  bool refreshes(int node) const { return node < request_.refreshing; }
  // True for a state of the plan that its refresh steps make.
  bool is_kept(int slot) const {
    return plan_.slots[slot].storage == Storage::in_state &&
           plan_.slots[slot].index >= static_cast<int>(plan_.session_states()) &&
           made_by_[slot] >= 0 && refreshes(made_by_[slot]);
  }

  int operand_to_overwrite(int node, int output, const std::vector<int>& taken) const {
    if (!request_.alias) return -1;
    const PlanStep& step = first_step(node);
    const Slot& to = plan_.slots[step.out[output]];
    for (std::size_t input = 0; input < step.in.size(); ++input) {
      int operand = step.in[input];
      if (operand < 0 || !request_.ops[node]->allows_alias(output, static_cast<int>(input)))
        continue;
      const Slot& from = plan_.slots[operand];
      if (from.storage != Storage::in_arena) continue;
      const Block& block = plan_.blocks[from.index];
      // If another operand views the same block differently, overwriting would corrupt it.
      bool shared = std::any_of(step.in.begin(), step.in.end(), [&](int other) {
        return other >= 0 && other != operand && plan_.slots[other].storage == Storage::in_arena &&
               plan_.slots[other].index == from.index;
      });
      if (!shared && block.worker == to.worker && block.bytes == to.desc.bytes() &&
          block.last <= node && std::count(taken.begin(), taken.end(), from.index) == 0)
        return operand;
    }
    return -1;
  }

  void drop_views() {
    std::vector<PlanStep> steps;
    for (Worker& worker : plan_.workers) worker.steps.clear();
    for (PlanStep& step : plan_.steps) {
      if (is_view_[step.node]) continue;
      if (refreshes(step.node)) {
        plan_.refresh.push_back(std::move(step));
        continue;
      }
      if (const int view = view_of_[step.node]; view >= 0) {
        plan_.moving_views[view] = std::move(step);
        continue;
      }
      plan_.workers[step.worker].steps.push_back(static_cast<int>(steps.size()));
      steps.push_back(std::move(step));
    }
    plan_.steps = std::move(steps);
  }

  void append_copies() {
    for (const StateUpdate& update : copies_) {
      Slot slot = plan_.slots[update.slot];
      slot.name = plan_.states[update.state];
      slot.storage = Storage::in_state;
      slot.index = update.state;
      slot.worker = plan_.state_workers[update.state];
      PlanStep step;
      step.name = slot.name;
      step.type = "CopyToState";
      step.node = request_.nodes();
      step.worker = slot.worker;
      step.in = {update.slot};
      step.out = {static_cast<int>(plan_.slots.size())};
      std::size_t bytes = slot.desc.bytes();
      step.kernel = make_kernel([bytes](const KernelArgs& args) {
        if (bytes == 0) return;  // an empty value has no address
        if (args.queue)
          args.queue->copy(args.out[0].data, args.in[0].data, bytes);
        else
          std::memcpy(args.out[0].data, args.in[0].data, bytes);
      });
      plan_.slots.push_back(std::move(slot));
      plan_.workers[step.worker].steps.push_back(static_cast<int>(plan_.steps.size()));
      plan_.steps.push_back(std::move(step));
    }
  }

  // Moves values used only by communication into the arena of its worker. Values shared with
  // computation keep their memory to the end: a block that reused the memory would have to wait for
  // messages.
  void keep_communication_apart() {
    constexpr int kNobody = -1, kSeveral = -2;
    std::vector<int> user(plan_.blocks.size(), kNobody);
    std::vector<bool> travels(plan_.blocks.size(), false);
    for (const PlanStep& step : plan_.steps)
      for (const auto& slots : {step.in, step.out})
        for (int slot : slots) {
          if (slot < 0 || plan_.slots[slot].storage != Storage::in_arena) continue;
          const int block = plan_.slots[slot].index;
          travels[block] = travels[block] || plan_.workers[step.worker].communicates();
          user[block] =
              user[block] == kNobody || user[block] == step.worker ? step.worker : kSeveral;
        }
    for (std::size_t i = 0; i < plan_.blocks.size(); ++i) {
      Block& block = plan_.blocks[i];
      if (!travels[i]) continue;
      if (user[i] != kSeveral &&
          plan_.workers[user[i]].device == plan_.workers[block.worker].device)
        block.worker = user[i];
      else
        block.last = kToTheEnd;
    }
  }

  void count_bytes() {
    std::vector<bool> fed(made_by_.size(), false);
    for (int feed : plan_.feeds)
      if (feed >= 0) fed[feed] = true;
    for (std::size_t i = 0; i < made_by_.size(); ++i)
      if ((made_by_[i] >= 0 && !is_kept(static_cast<int>(i)) && target_[i] < 0) || fed[i])
        plan_.tensor_bytes += plan_.slots[i].desc.bytes();
  }

  Plan& plan_;
  const AliasRequest& request_;
  std::vector<std::vector<int>> steps_of_node_;
  std::vector<int> last_use_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> made_by_;
  std::vector<int> target_;  // by slot: the state that the value is computed into, or -1
  std::vector<bool> is_view_;
  std::vector<int> view_of_;     // by node
  std::vector<bool> is_update_;  // by slot
  std::vector<StateUpdate> copies_;
};

}  // namespace

void find_aliases(Plan& plan, const AliasRequest& request) { StorageAssigner(plan, request).run(); }

}  // namespace lockstep
