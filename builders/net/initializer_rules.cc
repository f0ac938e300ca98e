// SPDX-License-Identifier: Apache-2.0
#include "builders/net/initializer_rules.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "builders/net/known_tables.h"

namespace lockstep {
namespace {

// The initializer that the value shows in another shape or type; `none` if it is computed.
Value constant_behind(const Graph& graph, Value value) {
  static const std::set<std::string> kViews{"Cast",    "Flatten",   "Identity", "Reshape",
                                            "Squeeze", "Transpose", "Unsqueeze"};
  while (value && !graph.literal(value)) {
    const auto maker = graph.producer(value);
    if (!maker || !kViews.contains(maker->type())) return none;
    value = maker->inputs()[0];
  }
  return value;
}

bool is_per_channel(const Literal& literal) {
  return std::count_if(literal.dims().begin(), literal.dims().end(),
                       [](int64_t size) { return size != 1; }) <= 1;
}

// Arithmetic by constants between an input and a value.
struct InputArithmetic {
  bool of_bytes = false;
  bool subtracts = false, divides = false;
  std::set<std::string> constants = {};

  bool is_normaliser() const { return subtracts && divides; }
};

class NormaliserSearch {
 public:
  explicit NormaliserSearch(const Graph& graph) : graph_(graph) {
    for (Value input : graph.inputs())
      chains_[input.id] = {.of_bytes = graph.dtype(input) == DType::uint8};
    for (int i = 0; i < graph.node_count(); ++i) follow(graph.node(i));
    for (const std::string& name : found_.certain) found_.possible.erase(name);
  }

  const InputNormalisers& found() const { return found_; }

 private:
  void follow(const Node& node) {
    static const std::set<std::string> kSame{"Cast", "Identity"};
    static const std::set<std::string> kArithmetic{"Add", "Sub", "Mul", "Div"};
    const auto inputs = node.inputs();
    if (kSame.contains(node.type())) {
      if (const InputArithmetic* before = chain_of(inputs[0]))
        chains_[node.outputs()[0].id] = *before;
      return;
    }
    if (!kArithmetic.contains(node.type())) return;
    for (std::size_t k : {0, 1})
      if (const InputArithmetic* before = chain_of(inputs[k]))
        if (const Value constant = constant_behind(graph_, inputs[1 - k])) {
          extend(node, *before, constant, k == 0);
          return;
        }
  }

  // `first`: the value is the first operand, the constant the second one.
  void extend(const Node& node, InputArithmetic chain, Value constant, bool first) {
    const std::string& name = graph_.name(constant);
    const bool subtracts = node.type() == "Sub" && first, divides = node.type() == "Div" && first;
    if (!chain.of_bytes) {
      if (!is_per_channel(*graph_.literal(constant))) return;
      if (chain.is_normaliser() && !subtracts && !divides) return;  // the affine part of a layer
    }
    chain.constants.insert(name);
    chain.subtracts |= subtracts;
    chain.divides |= divides;
    const bool certain = chain.of_bytes || chain.is_normaliser();
    (certain ? found_.certain : found_.possible)
        .insert(chain.constants.begin(), chain.constants.end());
    chains_[node.outputs()[0].id] = std::move(chain);
  }

  const InputArithmetic* chain_of(Value value) const {
    const auto found = chains_.find(value.id);
    return found == chains_.end() ? nullptr : &found->second;
  }

  const Graph& graph_;
  std::map<int, InputArithmetic> chains_;  // by value
  InputNormalisers found_;
};

// True if n x n matrices hold one number below the diagonal and on it, and another one above it.
bool is_triangular(const Literal& literal) {
  const Dims& dims = literal.dims();
  const auto values = literal.values<float>();
  if (dims.size() < 2 || values.empty()) return false;
  const int64_t n = dims.back();
  if (n < 3 || dims[dims.size() - 2] != n) return false;
  const float below = values[0], above = values[1];
  if (below == above) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (values[i] != (at % n > at / n % n ? above : below)) return false;
  }
  return true;
}

bool ends_with_part(const std::string& name, std::string_view part) {
  if (!name.ends_with(part)) return false;
  return name.size() == part.size() || name[name.size() - part.size() - 1] == '.' ||
         name[name.size() - part.size() - 1] == '/';
}

// True if all values are zero and the initializer is only joined to other values, as attention
// without a bias of its keys does.
bool is_filler(const Graph& graph, Value value) {
  const auto values = graph.literal(value)->values<float>();
  const std::vector<int>& users = graph.consumers(value);
  return !users.empty() && std::all_of(users.begin(), users.end(), [&](int node) {
    return graph.node(node).type() == "Concat";
  }) && std::all_of(values.begin(), values.end(), [](float number) { return number == 0; });
}

}  // namespace

std::set<std::string> class_weights_of_losses(const Graph& graph) {
  static const std::set<std::string> kLosses{"NegativeLogLikelihoodLoss",
                                             "SoftmaxCrossEntropyLoss"};
  std::set<std::string> names;
  for (int i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    const auto inputs = node.inputs();
    if (!kLosses.contains(node.type()) || inputs.size() < 3 || !inputs[2]) continue;
    if (const Value weights = constant_behind(graph, inputs[2])) names.insert(graph.name(weights));
  }
  return names;
}

InputNormalisers normalisers_of_inputs(const Graph& graph) {
  return NormaliserSearch(graph).found();
}

bool has_infinity(const Literal& literal) {
  const auto values = literal.values<float>();
  return std::any_of(values.begin(), values.end(), [](float number) { return std::isinf(number); });
}

bool is_mask(const Literal& literal) {
  constexpr float kMost = -100;
  const auto values = literal.values<float>();
  bool has_zero = false, has_low = false;
  for (const float number : values) {
    if (number != 0 && !(number <= kMost)) return is_triangular(literal);
    (number == 0 ? has_zero : has_low) = true;
  }
  return has_zero && has_low;
}

bool has_name_of_statistic(const std::string& name) {
  return ends_with_part(name, "running_mean") || ends_with_part(name, "running_var");
}

std::string looks_of(const Graph& graph, const std::string& name) {
  const Value value = graph.find(name);
  const Literal& literal = *graph.literal(value);
  if (ends_with_part(name, "inv_freq")) return "rotary frequencies by its name";
  if (is_counting(literal)) return "like the numbers 0, 1, 2, ..";
  if (is_geometric(literal)) return "like frequencies, each a fraction of the last";
  if (is_sine_table(literal)) return "like a table of sines";
  if (is_filler(graph, value)) return "zeros that are only joined to other values";
  return "";
}

}  // namespace lockstep
