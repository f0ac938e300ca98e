// SPDX-License-Identifier: Apache-2.0
#include "builders/net/regularisers.h"

#include <cmath>
#include <optional>
#include <utility>

namespace lockstep {
namespace {

// 16-bit floats round constants to 8 or more bits.
bool near(double a, double b) { return std::abs(a - b) <= 4e-3 * std::abs(b); }

class RegulariserForms {
 public:
  explicit RegulariserForms(const Graph& graph) : graph_(graph) {}

  // The operand that the node returns in prediction, or none.
  Value kept_by(const Node& node) const {
    if (node.outputs().size() != 1 || !node.domain().empty()) return none;
    Value kept = none;
    if (node.type() == "Mul") kept = kept_by_product(node);
    if (node.type() == "Add") kept = kept_by_alpha_dropout(node);
    const bool same = kept && graph_.type(kept) == graph_.type(node.outputs()[0]);
    return same ? kept : none;
  }

  bool is_idle_dropout(const Node& node) const {
    if (node.type() != "Dropout" || !node.domain().empty()) return false;
    const auto operand = [&](std::size_t i) {
      return i < node.inputs().size() ? node.inputs()[i] : none;
    };
    if (const Value mode = operand(2)) {
      const Literal* literal = graph_.literal(mode);
      if (!literal || literal->count() != 1 || literal->values<bool>()[0]) return false;
    }
    constexpr float kUsual = 0.5F;  // ONNX's default
    return !operand(1) ? node.attributes().number("ratio", kUsual) > 0
                       : number(operand(1)).value_or(0) > 0;
  }

 private:
  // The node of this type that makes the value.
  std::optional<Node> made_by(Value value, const char* type) const {
    const auto maker = value ? graph_.producer(value) : std::nullopt;
    if (!maker || maker->type() != type || !maker->domain().empty()) return std::nullopt;
    return maker;
  }

  // The value before casts.
  Value uncast(Value value) const {
    while (value) {
      const auto maker = graph_.producer(value);
      if (!maker || !maker->domain().empty() ||
          (maker->type() != "Cast" && maker->type() != "CastLike"))
        return value;
      value = maker->inputs()[0];
    }
    return value;
  }

  // The only element of a constant of a float type, perhaps after casts.
  std::optional<double> number(Value value) const {
    if (!value || !is_floating(graph_.dtype(value))) return std::nullopt;
    value = uncast(value);
    const Literal* literal = graph_.literal(value);
    if (!literal || literal->count() != 1) return std::nullopt;
    if (literal->dtype() == DType::int64) return static_cast<double>(literal->values<int64_t>()[0]);
    if (!is_floating(literal->dtype())) return std::nullopt;
    return with_floating(literal->dtype(),
                         [&]<class T>() { return static_cast<double>(literal->values<T>()[0]); });
  }

  // For a node of two operands, one of which is a constant number: the other operand, the number.
  std::optional<std::pair<Value, double>> with_number(Value result, const char* type) const {
    const auto node = made_by(result, type);
    if (!node) return std::nullopt;
    for (const std::size_t i : {1, 0})
      if (const auto found = number(node->inputs()[i])) return {{node->inputs()[1 - i], *found}};
    return std::nullopt;
  }
  std::optional<std::pair<Value, double>> quotient(Value result) const {
    const auto node = made_by(result, "Div");
    const auto divisor = node ? number(node->inputs()[1]) : std::nullopt;
    if (!divisor) return std::nullopt;
    return {{node->inputs()[0], *divisor}};
  }

  bool is_uniform(Value value) const {
    const auto maker = graph_.producer(value);
    if (!maker || !maker->domain().empty() ||
        (maker->type() != "RandomUniformLike" && maker->type() != "RandomUniform"))
      return false;
    auto attributes = maker->attributes();
    return attributes.number("low", 0) == 0 && attributes.number("high", 1) == 1;
  }

  // The probability of 1 in a mask of 0 and 1.
  std::optional<double> kept_share(Value mask) const {
    const Value drawn = uncast(mask);
    std::optional<double> share;
    if (const auto less = made_by(drawn, "Less"); less && is_uniform(less->inputs()[0]))
      share = number(less->inputs()[1]);
    else if (const auto floor = made_by(drawn, "Floor"))
      if (const auto sum = with_number(floor->inputs()[0], "Add"); sum && is_uniform(sum->first))
        share = sum->second;
    return share && *share > 0 && *share <= 1 ? share : std::nullopt;
  }

  Value kept_by_product(const Node& node) const {
    for (const std::size_t i : {0, 1}) {
      const Value x = node.inputs()[i], mask = node.inputs()[1 - i];
      if (const auto scaled = quotient(mask))
        if (const auto share = kept_share(scaled->first); share && near(*share, scaled->second))
          return x;
      if (const auto scaled = quotient(x))
        if (const auto share = kept_share(mask); share && near(*share, scaled->second))
          return scaled->first;
    }
    return none;
  }

  // y = x * (mask * a) + ((mask - 1) * (alpha a) + alpha a (1 - p)), where
  // a = ((alpha^2 (1 - p) + 1) p)^-0.5 keeps the variance.
  Value kept_by_alpha_dropout(const Node& node) const {
    constexpr double kAlpha = 1.7580993408473766;
    for (const std::size_t i : {0, 1}) {
      const auto product = made_by(node.inputs()[i], "Mul");
      const auto shift = with_number(node.inputs()[1 - i], "Add");
      const auto tilted = shift ? with_number(shift->first, "Mul") : std::nullopt;
      const auto below = tilted ? with_number(tilted->first, "Add") : std::nullopt;
      if (!product || !below || below->second != -1) continue;
      const auto share = kept_share(below->first);
      if (!share) continue;
      const double a = 1 / std::sqrt((kAlpha * kAlpha * (1 - *share) + 1) * *share);
      if (!near(tilted->second, kAlpha * a) || !near(shift->second, kAlpha * a * (1 - *share)))
        continue;
      for (const std::size_t k : {0, 1}) {
        const auto scaled = with_number(product->inputs()[k], "Mul");
        if (scaled && scaled->first == below->first && near(scaled->second, a))
          return product->inputs()[1 - k];
      }
    }
    return none;
  }

  const Graph& graph_;
};

}  // namespace

std::unordered_map<int, Value> regularisers_of(const Graph& graph) {
  const RegulariserForms forms(graph);
  std::unordered_map<int, Value> found;
  for (int i = 0; i < graph.node_count(); ++i)
    if (const Value kept = forms.kept_by(graph.node(i))) found.emplace(i, kept);
  return found;
}

std::unordered_set<int> only_for_regularisers(const Graph& graph,
                                              const std::unordered_map<int, Value>& found) {
  std::vector<bool> needed(graph.value_count(), false);
  for (Value output : graph.outputs()) needed[output.id] = true;
  for (const auto& [node, kept] : found) needed[kept.id] = true;
  std::unordered_set<int> unused;
  for (int i = graph.node_count() - 1; i >= 0; --i) {
    if (found.contains(i)) continue;
    bool any_user = false, any_need = false;
    for (Value output : graph.node(i).outputs()) {
      if (!output) continue;
      any_need = any_need || needed[output.id];
      for (int user : graph.consumers(output)) {
        any_user = true;
        any_need = any_need || !(unused.contains(user) || found.contains(user));
      }
    }
    if (any_user && !any_need) unused.insert(i);
  }
  return unused;
}

std::vector<std::string> drawing_nodes(const Graph& graph) {
  std::vector<bool> needed(graph.value_count(), false);
  for (Value output : graph.outputs()) needed[output.id] = true;
  const auto regularisers = regularisers_of(graph);
  std::vector<std::string> names;
  for (int i = graph.node_count() - 1; i >= 0; --i) {
    const Node node = graph.node(i);
    bool is_needed = false;
    for (Value output : node.outputs()) is_needed = is_needed || (output && needed[output.id]);
    if (!is_needed) continue;
    if (const auto kept = regularisers.find(i); kept != regularisers.end()) {
      needed[kept->second.id] = true;
      continue;
    }
    for (Value input : node.inputs())
      if (input) needed[input.id] = true;
    if (node.op()->random && !node.op()->draws) names.push_back(node.name());
  }
  return {names.rbegin(), names.rend()};
}

int64_t idle_dropouts(const Graph& graph) {
  const RegulariserForms forms(graph);
  int64_t count = 0;
  for (int i = 0; i < graph.node_count(); ++i) count += forms.is_idle_dropout(graph.node(i));
  return count;
}

}  // namespace lockstep
