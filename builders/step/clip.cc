// SPDX-License-Identifier: Apache-2.0
#include "builders/step/clip.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "lockstep/operators.h"

namespace lockstep {
namespace {

std::string named(const Graph& graph, Value gradient, const char* suffix) {
  return graph.name(gradient) + suffix;
}

// The limit, multiplied by `share` if gradients are of a share of the loss.
Value limit_of(Graph& graph, float limit, Value share, const std::string& name) {
  const Value whole = graph.constant(name, Literal::scalar(limit));
  return share ? mul(graph, whole, share, name + "_of_share") : whole;
}

// limit / max(norm of all gradients, limit): 1 if the norm is at most `limit`.
Value factor_of(Graph& graph, const std::vector<Value>& gradients, float limit, Value share) {
  std::vector<Value> squares;
  for (Value gradient : gradients)
    squares.push_back(graph.add_value(
        {.type = "ReduceSumSquare", .inputs = {gradient}, .attributes = {{"keepdims", int64_t{0}}}},
        named(graph, gradient, "_square")));
  const std::string name = named(graph, squares[0], "_of_all");
  Value total =
      squares.size() == 1 ? squares[0] : graph.add_value({.type = "Sum", .inputs = squares}, name);
  Value norm = graph.add_value({.type = "Sqrt", .inputs = {total}}, named(graph, total, "_norm"));
  Value most = limit_of(graph, limit, share, graph.name(norm) + "_limit");
  std::vector<Value> divisors{norm, most};
  // A replica without rows has share 0, limit 0 and zero gradients. The least divisor avoids 0 / 0.
  if (share)
    divisors.push_back(graph.constant(graph.name(norm) + "_least",
                                      Literal::scalar(std::numeric_limits<float>::min())));
  Value divisor =
      graph.add_value({.type = "Max", .inputs = divisors}, named(graph, norm, "_or_limit"));
  return div(graph, most, divisor, named(graph, norm, "_factor"));
}

Value within(Graph& graph, Value gradient, float limit, Value share) {
  const std::string name = graph.name(gradient);
  return graph.add_value({.type = "Clip",
                          .inputs = {gradient, limit_of(graph, -limit, share, name + "_least"),
                                     limit_of(graph, limit, share, name + "_most")}},
                         named(graph, gradient, "_clipped"));
}

}  // namespace

std::vector<Value> clip_gradients(Graph& graph, const ClipOptions& options,
                                  const std::vector<Value>& gradients, Value share,
                                  bool keep_non_finite) {
  std::vector<Value> clipped = gradients;
  auto for_each_gradient = [&](const auto& change) {
    for (Value& gradient : clipped)
      if (gradient) gradient = change(gradient);
  };
  if (options.value > 0)
    for_each_gradient([&](Value g) {
      const Value limited = within(graph, g, options.value, share);
      if (!keep_non_finite) return limited;
      const Value trace = sub(graph, g, g, named(graph, g, "_trace"));  // 0, or NaN
      return add(graph, limited, trace, named(graph, g, "_traced"));
    });
  if (options.each_norm > 0)
    for_each_gradient([&](Value g) {
      return mul(graph, g, factor_of(graph, {g}, options.each_norm, share),
                 named(graph, g, "_in_its_norm"));
    });
  std::vector<Value> present;
  std::copy_if(clipped.begin(), clipped.end(), std::back_inserter(present),
               [](Value gradient) { return bool(gradient); });
  if (options.norm <= 0 || present.empty()) return clipped;
  const Value factor = factor_of(graph, present, options.norm, share);
  for_each_gradient([&](Value g) { return mul(graph, g, factor, named(graph, g, "_in_norm")); });
  return clipped;
}

}  // namespace lockstep
