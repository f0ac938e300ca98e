// SPDX-License-Identifier: Apache-2.0
// The records of Pad and of its gradient:
//   PadGrad (dy, shape of x, pads) -> dx   adds the gradients of all copies of an element
#include "operators/shape/pad.h"

#include <algorithm>

#include "lockstep/operators.h"
#include "operators/kit/flops.h"
#include "operators/kit/symbolic_size.h"

namespace lockstep {
namespace {

// The pads in operand `i`; empty unless they are known.
std::optional<std::vector<int64_t>> known_pads(const Inference& inference, std::size_t i) {
  const auto content = content_of(inference, i);
  if (!content) return std::nullopt;
  std::vector<int64_t> pads;
  for (const Dim& entry : *content) {
    const auto number = number_of(entry);
    if (!number) return std::nullopt;
    pads.push_back(*number);
  }
  return pads;
}

// The shape of x with the pads in operand `i`; "?" where a size is not known.
Shape padded(Inference& inference, const Shape& x, std::size_t i) {
  const PadMode mode = pad_mode(inference.attributes.text("mode", "constant"));
  const auto pads = known_pads(inference, i);
  if (!pads) return Shape(x.size(), Dim("?"));
  check(pads->size() == 2 * x.size(), "has ", pads->size(), " pads for ", x.size(), " dimensions");
  Shape y;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const int64_t before = (*pads)[d], after = (*pads)[x.size() + d];
    constexpr int64_t kFar = int64_t{1} << 40;
    check(before > -kFar && before < kFar && after > -kFar && after < kFar, "pads dimension ", d,
          " by ", before, " and ", after);
    const auto size = OpenSize::of(x[d]);
    y.push_back(size ? (*size + before + after).dim() : Dim("?"));
    if (!x[d].known()) continue;
    check(y[d].size() >= 0, "pads dimension ", d, " of size ", x[d].size(), " by ", before, " and ",
          after, ": nothing is left");
    check(x[d].size() > 0 || mode == PadMode::constant || y[d].size() == 0, "dimension ", d,
          " has size 0: there is nothing to copy into its padding");
  }
  return y;
}

void pad_grad_law(Inference& inference) {
  shape_from_operand(inference);
  if (inference.outputs[0].ranked)
    demand_shape(inference, 0, padded(inference, inference.outputs[0].shape, 2));
}

// True if y contains all of x, with constants around it.
bool only_surrounds(PadMode mode, const Literal* pads) {
  if (mode != PadMode::constant || !pads) return false;
  const std::vector<int64_t> values = pads->integers();
  return std::all_of(values.begin(), values.end(), [](int64_t pad) { return pad >= 0; });
}

// The part of dy where y contains x.
Value middle(const GradientRequest& r, const std::vector<int64_t>& pads) {
  const std::size_t rank = pads.size() / 2;
  Value dx = r.dy[0];
  for (std::size_t i = 0; i < rank; ++i) {
    if (pads[i] == 0 && pads[rank + i] == 0) continue;
    const int64_t end = pads[rank + i] == 0 ? INT64_MAX : -pads[rank + i];
    dx = slice(r.graph, dx, static_cast<int64_t>(i), pads[i], end, gradient_site(r, 0));
  }
  return dx;
}

}  // namespace

PadMode pad_mode(const std::string& name) {
  check(name == "edge" || name == "reflect" || name == "constant", "mode is '", name,
        "', should be constant, reflect or edge");
  return name == "edge" ? PadMode::edge : name == "reflect" ? PadMode::reflect : PadMode::constant;
}

void pad_law(Inference& inference) {
  const TensorType& x = inference.input(0);
  if (!x.ranked) return;
  const Shape y = padded(inference, x.shape, 1);
  TensorType& result = inference.outputs[0];
  if (!result.ranked) result = {x.dtype, y, true};
  for (std::size_t d = 0; d < y.size() && d < result.shape.size(); ++d)
    if (!result.shape[d].known() && y[d].symbol() != "?") result.shape[d] = y[d];
}

std::vector<Value> pad_gradient(const GradientRequest& r) {
  const std::string name = r.node.attributes().text("mode", "constant");
  const Literal* pads = r.graph.literal(r.x(1));
  const Site site = gradient_site(r, 0);
  Value dx;
  if (only_surrounds(pad_mode(name), pads))
    dx = middle(r, pads->integers());
  else
    dx = r.graph.add_value({.type = "PadGrad",
                            .domain = kOwnDomain,
                            .inputs = {r.dy[0], shape_of(r.graph, r.x(0), site), r.x(1)},
                            .attributes = {{"mode", name}}},
                           site);
  if (r.node.inputs().size() < 3 || !r.wanted[2]) return {dx};
  // The constant is everywhere in y where x is not.
  const Value inside = r.graph.add_value({.type = "Pad", .inputs = {dx, r.x(1)}}, site);
  const Value around = sub(r.graph, r.dy[0], inside, site);
  return {dx, none, sum_to(r.graph, around, r.x(2), gradient_site(r, 2))};
}

Op pad_grad_op() {
  return {.type = "PadGrad",
          .domain = kOwnDomain,
          .no_body = kOnlyTrains,
          .signature = Signature{"Adds the gradients of all copies of an element that Pad made.",
                                 {{"dy"}, {"shape", "I"}, {"pads", "I"}},
                                 {{"dx"}},
                                 {{"mode", AttributeKind::text}}},
          .law = pad_grad_law,
          .flops = per_operand<1>,
          .narrow = {Narrow::follows}};
}

}  // namespace lockstep
