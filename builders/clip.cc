#include "builders/clip.h"

#include "operators/elementwise/elementwise.h"
#include "operators/reduce/reduce.h"

namespace lockstep {
namespace {

Site named(const Graph& graph, Value gradient, const char* suffix) {
  return Site(graph.name(gradient) + suffix, Where{"", 0});
}

// limit / max(norm of all, limit): 1 while the norm is small enough.
Value factor_of(Graph& graph, const std::vector<Value>& gradients, float limit) {
  std::vector<Value> squares;
  for (Value gradient : gradients)
    if (gradient)
      squares.push_back(graph.add_value({.type = "ReduceSumSquare",
                                         .inputs = {gradient},
                                         .attributes = {{"keepdims", int64_t{0}}}},
                                        named(graph, gradient, "_square")));
  const Site site = named(graph, squares[0], "_of_all");
  Value total =
      squares.size() == 1 ? squares[0] : graph.add_value({.type = "Sum", .inputs = squares}, site);
  Value norm = graph.add_value({.type = "Sqrt", .inputs = {total}}, named(graph, total, "_norm"));
  Value most = graph.constant(graph.name(norm) + "_limit", Literal::scalar(limit));
  Value divisor =
      graph.add_value({.type = "Max", .inputs = {norm, most}}, named(graph, norm, "_or_limit"));
  return div(graph, most, divisor, named(graph, norm, "_factor"));
}

}  // namespace

std::vector<Value> clip_gradients(Graph& graph, const ClipOptions& options,
                                  const std::vector<Value>& gradients, float scale) {
  std::vector<Value> clipped = gradients;
  if (options.value > 0)
    for (Value& gradient : clipped)
      if (gradient)
        gradient = clip(graph, gradient, -options.value * scale, options.value * scale,
                        named(graph, gradient, "_clipped"));
  bool any = false;
  for (Value gradient : clipped) any = any || gradient;
  if (options.norm <= 0 || !any) return clipped;
  Value factor = factor_of(graph, clipped, options.norm * scale);
  for (Value& gradient : clipped)
    if (gradient) gradient = mul(graph, gradient, factor, named(graph, gradient, "_in_norm"));
  return clipped;
}

}  // namespace lockstep
