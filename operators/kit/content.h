// SPDX-License-Identifier: Apache-2.0
// Known contents of small integer vectors when a graph is built: the arithmetic on shapes that
// exporters emit (Shape, Gather, Unsqueeze, Concat, Reshape). Symbols stay symbols, so a network
// with an open batch keeps the shapes that depend on it. A scalar is a vector of one; a table (pads
// computed by exporters) is tracked row by row while it is only sliced, transposed and reshaped.
// Each function is the content law of the operators it names.
#pragma once

#include <optional>

#include "graph/op.h"

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
// Add, Sub, Mul, Div, Mod, Max, Min, Equal: of numbers and of sizes such as 4*N + 1. "?" is an
// unknown entry; true and false are 1 and 0.
std::optional<Shape> content_of_arithmetic(Inference& inference);
std::optional<Shape> content_of_where(Inference& inference);    // Where
std::optional<Shape> content_of_expand(Inference& inference);   // Expand
std::optional<Shape> content_of_fill(Inference& inference);     // ConstantOfShape
std::optional<Shape> content_of_range(Inference& inference);    // Range
std::optional<Shape> content_of_product(Inference& inference);  // ReduceProd
std::optional<Shape> content_of_size(Inference& inference);     // Size

}  // namespace lockstep
