// SPDX-License-Identifier: Apache-2.0
#include "app/diff/weight_changes.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <unordered_map>

#include "graph/literal_difference.h"

namespace lockstep {
namespace {

using TensorPair = std::pair<const StateValues::value_type*, const StateValues::value_type*>;

class WeightComparison {
 public:
  explicit WeightComparison(const WeightRequest& request) : request_(request) {}

  void run(Changes& changes) {
    for (const auto& tensor : request_.a) find_partner(tensor);
    find_renamed();
    struct Ranked {
      double largest;
      Change change;
    };
    std::vector<Ranked> ranked;
    for (const auto& [a, b] : pairs_) {
      if (a->first != b->first)
        changes.push_back(of_tensor(DiffKind::renamed, a->first, a->first, b->first));
      if (a->second.type() != b->second.type()) {
        changes.push_back(of_tensor(DiffKind::changed, a->first, text_of(a->second.type()),
                                    text_of(b->second.type())));
        changes.back().what = "type";
      } else if (a->second != b->second) {
        const LiteralDifference found = largest_difference(a->second, b->second);
        Change change = of_tensor(DiffKind::changed, a->first, found.a, found.b);
        change.what = "values";
        change.note = join(found.count, " of ", a->second.count(), " differ, most at ", found.at,
                           " by ", shortest_text(rounded(found.largest)));
        ranked.push_back({found.largest, std::move(change)});
      }
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Ranked& x, const Ranked& y) { return x.largest > y.largest; });
    for (Ranked& each : ranked) changes.push_back(std::move(each.change));
    for (const auto* tensor : lone_a_)
      if (renamed_.count(tensor->first) == 0)
        changes.push_back(of_tensor(DiffKind::only_in_a, tensor->first));
    for (const auto& [name, value] : request_.b)
      if (taken_.count(name) == 0) changes.push_back(of_tensor(DiffKind::only_in_b, name));
  }

 private:
  static Change of_tensor(DiffKind kind, const std::string& name, std::string a = "",
                          std::string b = "") {
    return {.part = DiffPart::weights,
            .kind = kind,
            .of = "tensor",
            .name = name,
            .a = std::move(a),
            .b = std::move(b)};
  }

  // Digits beyond float's would only repeat its rounding.
  static float rounded(double number) {
    constexpr float kMost = std::numeric_limits<float>::max();
    return number > kMost ? std::numeric_limits<float>::infinity() : static_cast<float>(number);
  }

  void find_partner(const StateValues::value_type& tensor) {
    const auto partner = request_.partners.find(tensor.first);
    const auto found =
        request_.b.find(partner == request_.partners.end() ? tensor.first : partner->second);
    if (found == request_.b.end() || !taken_.insert(found->first).second)
      lone_a_.push_back(&tensor);
    else
      pairs_.emplace_back(&tensor, &*found);
  }

  // Pairs the tensors that are left if their bytes are equal, and no other tensor has these bytes.
  void find_renamed() {
    std::unordered_map<std::size_t, std::vector<const StateValues::value_type*>> left;
    for (const auto& tensor : request_.b)
      if (taken_.count(tensor.first) == 0) left[hash_of(tensor.second)].push_back(&tensor);
    for (const auto* tensor : lone_a_) {
      const auto found = left.find(hash_of(tensor->second));
      if (found == left.end() || found->second.size() != 1) continue;
      const auto* equal = found->second[0];
      if (equal->second != tensor->second || !taken_.insert(equal->first).second) continue;
      renamed_.insert(tensor->first);
      pairs_.emplace_back(tensor, equal);
    }
  }

  static std::size_t hash_of(const Literal& literal) {
    const auto bytes = literal.bytes();
    return std::hash<std::string_view>{}(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  const WeightRequest& request_;
  std::vector<TensorPair> pairs_;
  std::vector<const StateValues::value_type*> lone_a_;
  std::set<std::string_view> taken_;    // names of b
  std::set<std::string_view> renamed_;  // names of a
};

}  // namespace

void add_weight_changes(const WeightRequest& request, Changes& changes) {
  WeightComparison(request).run(changes);
}

}  // namespace lockstep
