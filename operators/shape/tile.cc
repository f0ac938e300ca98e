// SPDX-License-Identifier: Apache-2.0
#include "operators/shape/tile.h"

#include <cstdint>

#include "lockstep/operators.h"
#include "operators/kit/symbolic_size.h"

namespace lockstep {
namespace {

// Entry `i` of an integer vector, as a vector.
Value entry_as_vector(Graph& graph, Value vector, std::size_t i, const Site& site) {
  const auto at = static_cast<int64_t>(i);
  return slice(graph, vector, 0, at, at + 1, site);
}

}  // namespace

void tile_law(Inference& inference) {
  const TensorType& x = inference.input(0);
  const auto repeats = content_of(inference, 1);
  if (!repeats || !x.ranked || repeats->size() != x.shape.size()) return;
  Shape shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    const auto size = OpenSize::of(x.shape[i]), times = OpenSize::of((*repeats)[i]);
    shape.push_back(size && times ? (*size * *times).dim() : Dim("?"));
  }
  inference.outputs[0] = {x.dtype, shape, true};
}

// The gradient sums over the repeats: dy is reshaped from [repeats * n, ..] to [repeats, n, ..].
// The graph computes sizes and repeats that are not known, such as the batch size.
std::vector<Value> tile_gradient(const GradientRequest& r) {
  const bool open = !r.graph.literal(r.x(1));
  const auto repeats = open ? std::vector<int64_t>{} : r.graph.literal(r.x(1))->integers();
  const Shape x = r.graph.shape(r.x(0));
  const Site site = gradient_site(r, 0);
  Value sizes = none;
  std::vector<Value> apart;
  std::vector<int64_t> axes;
  const auto number = [&](int64_t value) {
    return r.graph.constant(site.name + "_size", Literal::vector({value}));
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (open || repeats[i] != 1) {
      axes.push_back(static_cast<int64_t>(apart.size()));
      apart.push_back(open ? entry_as_vector(r.graph, r.x(1), i, site) : number(repeats[i]));
    }
    if (!x[i].known() && !sizes) sizes = shape_of(r.graph, r.x(0), site);
    apart.push_back(x[i].known() ? number(x[i].size()) : entry_as_vector(r.graph, sizes, i, site));
  }
  if (axes.empty()) return {r.dy[0], none};
  const Value shape = concat(r.graph, apart, 0, site);
  // A size may be 0 (no repeat or no element), hence allowzero.
  const Value parts = r.graph.add_value(
      {.type = "Reshape", .inputs = {r.dy[0], shape}, .attributes = {{"allowzero", int64_t{1}}}},
      site);
  return {reduce_sum(r.graph, parts, axes, false, site), none};
}

}  // namespace lockstep
