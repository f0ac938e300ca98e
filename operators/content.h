// What small integer vectors hold, as far as it is known when a graph is built: the arithmetic on
// shapes that exporters write out (Shape, Gather, Unsqueeze, Concat, Reshape). Symbols pass through
// as symbols, so a network whose batch is open still has shapes that follow from it. A scalar is a
// vector of one. Each function is the content law of the operators it names.
#pragma once

#include <optional>

#include "graph/op.h"

namespace lockstep {

// What operand `i` holds, if that is known.
std::optional<Shape> content_of(const Inference& inference, std::size_t i);
// The number that one entry is; nothing for a symbol.
std::optional<int64_t> number_of(const Dim& entry);

std::optional<Shape> content_of_shape(Inference& inference);  // Shape
std::optional<Shape> same_content(Inference& inference);  // Identity, Cast, Squeeze, Unsqueeze..
std::optional<Shape> content_of_gather(Inference& inference);  // Gather
std::optional<Shape> content_of_concat(Inference& inference);  // Concat
std::optional<Shape> content_of_slice(Inference& inference);   // Slice
// Add, Sub, Mul, Div: of numbers; a symbol passes where the other operand changes nothing.
std::optional<Shape> content_of_arithmetic(Inference& inference);

}  // namespace lockstep
