// SPDX-License-Identifier: Apache-2.0
// The equation of an Einsum, such as "bhqd,bhkd->bhqk".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep {

// A letter, or a dimension of the ellipsis: the last one is kEllipsis, the one before it
// kEllipsis + 1, because ellipses of several operands are aligned at their ends.
using EinsumLabel = int;
inline constexpr EinsumLabel kEllipsis = 256;

struct EinsumEquation {
  std::vector<std::vector<EinsumLabel>> operands;  // a label for each dimension
  std::vector<EinsumLabel> result;
};

// Reads an equation for operands with these numbers of dimensions. Throws if they do not fit.
EinsumEquation read_equation(const std::string& text, const std::vector<std::size_t>& dims);

// "letter i", or "dimension -1 of the ellipsis"
std::string text_of_label(EinsumLabel label);

}  // namespace lockstep
