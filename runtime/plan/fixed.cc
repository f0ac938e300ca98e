// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/fixed.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <string>

#include "graph/print.h"
#include "graph/tensor_bytes.h"
#include "runtime/plan/requests.h"

namespace lockstep {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

class FixedNodes {
 public:
  FixedNodes(Graph& bound, const CompileRequest& compile, const std::vector<Value>& results,
             const std::vector<Binding>& copies)
      : bound_(bound),
        compile_(compile),
        unchanged_(compile.states.begin(), compile.states.end()),
        is_result_(at(bound.value_count()), false),
        fixed_(at(bound.node_count()), false),
        copies_(at(bound.node_count()), false) {
    for (const Binding& update : compile.updates) unchanged_.erase(update.state);
    for (Value result : results) is_result_[at(result.id)] = true;
    for (const Binding& copy : copies)
      copies_[at(bound.producer(bound.at(copy.state))->index())] = true;
  }

  FixedPart run() {
    if (!compile_.feeds.empty()) {
      for (int i = 0; i < bound_.node_count(); ++i) fixed_[at(i)] = can_be_fixed(bound_.node(i));
      while (leave_views_to_their_readers() || leave_readers_of_others()) continue;
    }
    FixedPart part;
    for (int i = 0; i < bound_.node_count(); ++i) {
      part.nodes += comes_first(i);
      if (!fixed_[at(i)]) continue;
      for (Value output : bound_.node(i).outputs())
        if (output && others_read(output)) part.kept.push_back(output);
    }
    std::vector<int> order(at(bound_.node_count()));
    std::iota(order.begin(), order.end(), 0);
    // clang 14 does not compile libstdc++'s std::ranges::stable_partition.
    std::stable_partition(order.begin(), order.end(), [&](int node) { return comes_first(node); });
    bound_.reorder(order);
    return part;
  }

 private:
  bool comes_first(int node) const { return fixed_[at(node)] || copies_[at(node)]; }

  bool is_fixed(Value value) const {
    if (bound_.literal(value)) return true;
    const auto maker = bound_.producer(value);
    return maker ? fixed_[at(maker->index())] : unchanged_.contains(bound_.name(value));
  }
  bool has_fixed_operands(const Node& node) const {
    return std::ranges::all_of(node.inputs(), [&](Value x) { return !x || is_fixed(x); });
  }

  // Its worker waits for no other before a run, and a result that is much larger than what it is
  // made of is not worth the memory.
  bool can_be_fixed(const Node& node) const {
    const Op& op = *node.op();
    if (op.random || op.collective || op.exchange || copies_[at(node.index())] ||
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
    return is_result_[at(value.id)] || std::ranges::any_of(bound_.consumers(value), [&](int user) {
             return !fixed_[at(user)];
           });
  }

  // A view costs nothing where its operand lies. Kept, it would be a copy. True if any was left.
  bool leave_views_to_their_readers() {
    bool any = false;
    for (int i = bound_.node_count() - 1; i >= 0; --i) {
      const Node node = bound_.node(i);
      if (!fixed_[at(i)] || !node.op()->view || !others_read(node.outputs()[0])) continue;
      fixed_[at(i)] = false;
      any = true;
    }
    return any;
  }
  bool leave_readers_of_others() {
    bool any = false;
    for (int i = 0; i < bound_.node_count(); ++i) {
      if (!fixed_[at(i)] || has_fixed_operands(bound_.node(i))) continue;
      fixed_[at(i)] = false;
      any = true;
    }
    return any;
  }

  Graph& bound_;
  const CompileRequest& compile_;
  std::set<std::string> unchanged_;  // states
  std::vector<bool> is_result_;      // by value
  std::vector<bool> fixed_;          // by node
  std::vector<bool> copies_;         // by node: makes copies of states that the plan changes
};

// Large constants are not compared: a number that no other text has stands for each.
void describe_constant(std::string& text, std::span<const std::byte> bytes) {
  constexpr std::size_t kLarge = 64 * 1024;
  static std::atomic<int64_t> last = 0;
  if (bytes.size() >= kLarge) return void(text += join("number ", ++last));
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void describe(std::string& text, const Plan& plan, int number) {
  if (number < 0) return void(text += " -");
  const Slot& slot = plan.slots[at(number)];
  text += join(" ", slot.name, " ", slot.desc, " ", slot.desc.channel_block, " of ", slot.worker,
               " at ", static_cast<int>(slot.lives), " ");
  if (slot.lives == Lives::as_constant)
    describe_constant(text, plan.literals[at(slot.index)].bytes());
  else
    text += join(slot.index);
}

}  // namespace

FixedPart put_fixed_part_first(Graph& bound, const CompileRequest& compile,
                               const std::vector<Value>& results,
                               const std::vector<Binding>& copies) {
  return FixedNodes(bound, compile, results, copies).run();
}

std::shared_ptr<const std::string> refresh_text(const Plan& plan, const Graph& bound) {
  std::string text;
  for (const PlanStep& step : plan.refresh) {
    text += join(bytes_of(bound.node(step.node)), " by ", step.candidate, " on ", step.worker);
    for (const int slot : step.in) describe(text, plan, slot);
    text += " ->";
    for (const int slot : step.out) describe(text, plan, slot);
    text += "\n";
  }
  for (const std::size_t offset : plan.kept) text += join(offset, " ");
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace lockstep
