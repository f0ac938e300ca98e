// SPDX-License-Identifier: Apache-2.0
#include "builders/optimizers/trust_ratio.h"

#include <string>

#include "lockstep/operators.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {

Value norm_of(Graph& graph, Value tensor, const Site& site) {
  return graph.add_value(
      {.type = "ReduceL2", .inputs = {tensor}, .attributes = {{"keepdims", int64_t{0}}}}, site);
}

Value trust_ratio(Graph& graph, const RatioTerms& terms, const std::string& name) {
  const auto node = [&](const char* type, std::vector<Value> inputs, const char* what) {
    return graph.add_value({.type = type, .inputs = std::move(inputs)}, name + what);
  };
  const Value ratio = div(graph, terms.numerator, terms.denominator, name + "_trust_ratio");
  const Value smaller = node("Min", {terms.size, terms.slope}, "_smaller_norm");
  const Value is_known = node("Greater", {smaller, shared_number(graph, 0)}, "_has_norms");
  return node("Where", {is_known, ratio, shared_number(graph, 1)}, "_ratio");
}

}  // namespace lockstep
