// SPDX-License-Identifier: Apache-2.0
// The arithmetic of convolutions and their gradients, by the definition: `data` elements are
// multiplied with a whole filter each. A bias, another tensor and a ReLU need one operation for
// each result, the sums and squares of a following batch norm three.
#pragma once

#include "graph/flops.h"
#include "operators/conv/conv.h"
#include "operators/kit/flops.h"

namespace lockstep {

// The first dimension of the filters numbers them.
inline double filtered(double data, const Node& node, Value filters) {
  const double count = extent_of(node.graph(), filters, 0);
  return count == 0 ? 0 : 2 * data * (elements_of(node.graph(), filters) / count);
}

inline Flops conv_flops(const Node& node) {
  const double y = elements_out(node, ConvOut::y);
  AttributeReader attributes = node.attributes();
  const int each = (has_operand(node, ConvIn::bias) ? 1 : 0) +
                   (has_operand(node, ConvIn::z) ? 1 : 0) +
                   (attributes.integer("relu", 0) != 0 ? 1 : 0) +
                   (node.outputs().size() > ConvOut::sums ? 3 : 0);
  return {filtered(y, node, node.inputs()[ConvIn::w]), each * y};
}

inline Flops conv_transpose_flops(const Node& node) {
  return {filtered(elements_in(node, ConvIn::x), node, node.inputs()[ConvIn::w]),
          has_operand(node, ConvIn::bias) ? elements_out(node, 0) : 0};
}

inline Flops conv_grad_x_flops(const Node& node) {
  return {filtered(elements_in(node, ConvGradXIn::dy), node, node.inputs()[ConvGradXIn::w]),
          has_operand(node, ConvGradXIn::z) ? elements_out(node, 0) : 0};
}

inline Flops conv_grad_w_flops(const Node& node) {
  return {filtered(elements_in(node, ConvGradWIn::dy), node, node.outputs()[0]), 0};
}

}  // namespace lockstep
