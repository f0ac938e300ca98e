// SPDX-License-Identifier: Apache-2.0
#include "app/pages/gradient_partners.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace lockstep {
namespace {

constexpr std::size_t kMostReaders = 64;  // of one value that are looked at
constexpr int kGradientCounts = 3;        // as much as three shared values
constexpr int kLeastCount = 3;

class PartnerFinder {
 public:
  PartnerFinder(const Graph& graph, const std::vector<Phase>& phases)
      : graph_(graph), phases_(phases) {
    bases_.reserve(graph.value_count());
    for (int id = 0; id < graph.value_count(); ++id) bases_.push_back(base_of(graph.name({id})));
  }

  std::vector<GradientPartners> find() const {
    std::vector<GradientPartners> pairs;
    for (int i = 0; i < graph_.node_count(); ++i) {
      if (phases_[i] != Phase::backward) continue;
      if (const int forward = partner_of(graph_.node(i)); forward >= 0)
        pairs.push_back({forward, i});
    }
    return pairs;
  }

 private:
  // x of x_grad and of x_grad_autosplit_2; none for other names.
  Value base_of(std::string_view name) const {
    constexpr std::string_view kGradient = "_grad", kPart = "_autosplit_";
    if (const std::size_t part = name.rfind(kPart); part != name.npos) {
      const std::string_view number = name.substr(part + kPart.size());
      if (!number.empty() && number.find_first_not_of("0123456789") == number.npos)
        name = name.substr(0, part);
    }
    if (!name.ends_with(kGradient)) return none;
    return graph_.find(name.substr(0, name.size() - kGradient.size()));
  }

  int partner_of(const Node& node) const {
    std::vector<int> candidates;
    for (const Value input : node.inputs())
      if (input && !graph_.literal(input)) add_candidates(node, input, candidates);
    for (const Value output : node.outputs())
      if (output && bases_[output.id]) add_candidates(node, bases_[output.id], candidates);
    std::ranges::sort(candidates);
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
    int best = -1, most = kLeastCount - 1;
    for (const int candidate : candidates) {
      const int count = count_shared(node, graph_.node(candidate));
      if (count > most) best = candidate, most = count;
    }
    return best;
  }

  // Forward nodes that make or read the value.
  void add_candidates(const Node& node, Value value, std::vector<int>& candidates) const {
    const auto add = [&](int index) {
      if (phases_[index] == Phase::forward && graph_.node(index).replica() == node.replica())
        candidates.push_back(index);
    };
    if (const auto producer = graph_.producer(value)) add(producer->index());
    const std::vector<int>& readers = graph_.consumers(value);
    for (std::size_t i = 0; i < std::min(readers.size(), kMostReaders); ++i) add(readers[i]);
  }

  static bool has(std::span<const Value> values, Value value) {
    return value && std::ranges::find(values, value) != values.end();
  }

  int count_shared(const Node& backward, const Node& forward) const {
    int count = backward.where() == forward.where() ? 1 : 0;
    for (const Value input : backward.inputs()) {
      if (!input) continue;
      if (has(forward.inputs(), input) || has(forward.outputs(), input)) ++count;
      if (has(forward.outputs(), bases_[input.id])) count += kGradientCounts;
    }
    const auto makes_gradient = [&](Value output) {
      return output && has(forward.inputs(), bases_[output.id]);
    };
    if (std::ranges::any_of(backward.outputs(), makes_gradient)) count += kGradientCounts;
    return count;
  }

  const Graph& graph_;
  const std::vector<Phase>& phases_;
  std::vector<Value> bases_;  // by value: the value whose gradient it is
};

}  // namespace

std::vector<GradientPartners> gradient_partners(const Graph& graph,
                                                const std::vector<Phase>& phases) {
  return PartnerFinder(graph, phases).find();
}

}  // namespace lockstep
