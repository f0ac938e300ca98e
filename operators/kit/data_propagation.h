// SPDX-License-Identifier: Apache-2.0
// Data propagation: known contents of small integer vectors while a graph is built. It covers the
// shape arithmetic that exporters emit (Shape, Gather, Unsqueeze, Concat, Reshape). Symbolic
// dimensions stay symbols, so a network with an open batch keeps the shapes that depend on the
// batch. A scalar is a vector of length 1. A table (pads computed by exporters) is tracked in
// row-major order while it is only sliced, transposed and reshaped. Each function is the content
// law of the operators that it names.
#pragma once

#include <optional>

#include "lockstep/op.h"

namespace lockstep {

// The content of operand `i`, a vector or scalar, if known.
std::optional<Shape> content_of(const Inference& inference, std::size_t i);
// The entry as a number; empty for a symbol.
std::optional<int64_t> number_of(const Dim& entry);

std::optional<Shape> content_of_shape(Inference& inference);  // Shape
std::optional<Shape> same_content(Inference& inference);  // Identity, Cast, Squeeze, Unsqueeze..
std::optional<Shape> content_of_gather(Inference& inference);     // Gather
std::optional<Shape> content_of_concat(Inference& inference);     // Concat
std::optional<Shape> content_of_slice(Inference& inference);      // Slice
std::optional<Shape> content_of_transpose(Inference& inference);  // Transpose, of tables
// Add, Sub, Mul, Div, Mod, Max, Min, Equal, on numbers and on sizes such as 4*N + 1. "?" is an
// unknown entry; true and false are 1 and 0.
std::optional<Shape> content_of_arithmetic(Inference& inference);
std::optional<Shape> content_of_where(Inference& inference);    // Where
std::optional<Shape> content_of_expand(Inference& inference);   // Expand
std::optional<Shape> content_of_fill(Inference& inference);     // ConstantOfShape
std::optional<Shape> content_of_range(Inference& inference);    // Range
std::optional<Shape> content_of_product(Inference& inference);  // ReduceProd
std::optional<Shape> content_of_size(Inference& inference);     // Size

}  // namespace lockstep
