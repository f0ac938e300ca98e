// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/cached_values.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "graph/print.h"
#include "graph/tensor_bytes.h"
#include "runtime/plan/kernel_requests.h"
#include "runtime/plan/plan.h"

namespace lockstep {
namespace {

class FixedNodes {
 public:
  FixedNodes(Graph& bound, const CompileRequest& compile, const std::vector<Value>& results,
             const std::vector<CachedValue>& copies)
      : bound_(bound),
        compile_(compile),
        unchanged_(compile.states.begin(), compile.states.end()),
        is_result_(bound.value_count(), false),
        fixed_(bound.node_count(), false),
        copies_(bound.node_count(), false) {
    for (const Binding& update : compile.updates) unchanged_.erase(update.state);
    for (Value result : results) is_result_[result.id] = true;
    for (const CachedValue& copy : copies) copies_[bound.producer(copy.state)->index()] = true;
  }

  CachedPart run() {
    if (!compile_.feeds.empty()) {
      for (int i = 0; i < bound_.node_count(); ++i) fixed_[i] = can_be_fixed(bound_.node(i));
      while (leave_views_to_their_readers() || leave_readers_of_others()) continue;
    }
    CachedPart part;
    for (int i = 0; i < bound_.node_count(); ++i) {
      part.nodes += comes_first(i);
      if (!fixed_[i]) continue;
      for (Value output : bound_.node(i).outputs())
        if (output && others_read(output)) part.kept.push_back(output);
    }
    std::vector<int> order(bound_.node_count());
    std::iota(order.begin(), order.end(), 0);
    // clang 14 does not compile libstdc++'s std::ranges::stable_partition.
    std::stable_partition(order.begin(), order.end(), [&](int node) { return comes_first(node); });
    bound_.reorder(order);
    return part;
  }

 private:
  bool comes_first(int node) const { return fixed_[node] || copies_[node]; }

  bool is_fixed(Value value) const {
    if (bound_.literal(value)) return true;
    const auto maker = bound_.producer(value);
    return maker ? fixed_[maker->index()] : unchanged_.contains(bound_.name(value));
  }
  bool has_fixed_operands(const Node& node) const {
    return std::ranges::all_of(node.inputs(), [&](Value x) { return !x || is_fixed(x); });
  }

  // False for a node that needs another worker's values: no worker waits before a run. False if the
  // result is much larger than the operands: it is not worth the memory.
  bool can_be_fixed(const Node& node) const {
    const Op& op = *node.op();
    if (op.random || op.collective || op.exchange || copies_[node.index()] ||
        !has_fixed_operands(node))
      return false;
    constexpr std::size_t kMostGrowth = 2;
    std::size_t made = 0, read = 0;
    int worker = -1;
    for (Value output : node.outputs()) {
      if (!output) continue;
      made += bytes_of(bound_.type(output));
      worker = worker_of(output);
    }
    for (Value input : node.inputs()) {
      if (!input) continue;
      read += bytes_of(bound_.type(input));
      if (!bound_.literal(input) && worker_of(input) != worker) return false;
    }
    return made <= kMostGrowth * read;
  }

  int worker_of(Value value) const { return worker_of_value(bound_, value, compile_); }

  bool others_read(Value value) const {
    return is_result_[value.id] ||
           std::ranges::any_of(bound_.consumers(value), [&](int user) { return !fixed_[user]; });
  }

  // Makes a view run in every run if other nodes read the view: it costs nothing there, but keeping
  // it would need a copy. True if any view changed.
  bool leave_views_to_their_readers() {
    bool any = false;
    for (int i = bound_.node_count() - 1; i >= 0; --i) {
      const Node node = bound_.node(i);
      if (!fixed_[i] || !node.op()->view || !others_read(node.outputs()[0])) continue;
      fixed_[i] = false;
      any = true;
    }
    return any;
  }
  bool leave_readers_of_others() {
    bool any = false;
    for (int i = 0; i < bound_.node_count(); ++i) {
      if (!fixed_[i] || has_fixed_operands(bound_.node(i))) continue;
      fixed_[i] = false;
      any = true;
    }
    return any;
  }

  Graph& bound_;
  const CompileRequest& compile_;
  std::set<std::string> unchanged_;  // states
  std::vector<bool> is_result_;      // by value
  std::vector<bool> fixed_;          // by node
  std::vector<bool> copies_;         // by node: makes a kept copy of a state that the plan changes
};

CacheIdentity::Operand operand_of(const Plan& plan, int number) {
  if (number < 0) return {};
  const Slot& slot = plan.slots[number];
  CacheIdentity::Operand operand{slot.name, slot.desc, slot.worker, slot.storage};
  if (slot.storage == Storage::as_constant)
    operand.constant = plan.literals[slot.index];
  else
    operand.index = slot.index;
  return operand;
}

}  // namespace

CachedPart put_cached_part_first(Graph& bound, const CompileRequest& compile,
                                 const std::vector<Value>& results,
                                 const std::vector<CachedValue>& copies) {
  return FixedNodes(bound, compile, results, copies).run();
}

bool operator==(const CacheIdentity& one, const CacheIdentity& other) {
  if (&one == &other) return true;
  return !one.has_large_constant && !other.has_large_constant && one.steps == other.steps &&
         one.offsets == other.offsets;
}

std::shared_ptr<const CacheIdentity> cache_identity(const Plan& plan, const Graph& bound) {
  constexpr std::size_t kLarge = 64 * 1024;
  auto identity = std::make_shared<CacheIdentity>();
  identity->offsets = plan.kept;
  for (const PlanStep& step : plan.refresh) {
    CacheIdentity::Step& known = identity->steps.emplace_back();
    known.node = bytes_of(bound.node(step.node));
    known.candidate = step.candidate;
    known.worker = step.worker;
    for (const int slot : step.in) {
      const bool is_constant = slot >= 0 && plan.slots[slot].storage == Storage::as_constant;
      if (is_constant && plan.literals[plan.slots[slot].index].bytes().size() >= kLarge)
        identity->has_large_constant = true;
      else
        known.in.push_back(operand_of(plan, slot));
    }
    for (const int slot : step.out) known.out.push_back(operand_of(plan, slot));
  }
  return identity;
}

}  // namespace lockstep
