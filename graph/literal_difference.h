// SPDX-License-Identifier: Apache-2.0
// Comparison of two constants, element by element.
#pragma once

#include <cstdint>
#include <string>

#include "lockstep/attributes.h"

namespace lockstep {

// The shortest text that is read back as the same number: "0.1", "nan".
std::string shortest_text(double number);
std::string shortest_text(float number);

// The first element that differs, as `[0,3]: 0.5 -> 0.25`, or the types: `float32[2] -> int64[2]`.
// "" if the constants are equal byte for byte.
std::string first_difference(const Literal& a, const Literal& b);

// Elements of two constants of the same type and shape.
struct LiteralDifference {
  int64_t count = 0;    // of elements whose bytes differ
  double largest = 0;   // magnitude; infinity if an element is finite in one constant only
  int64_t element = 0;  // the first with the largest difference
  std::string at;       // its index: "[0,3]"
  std::string a, b;     // its values
};
LiteralDifference largest_difference(const Literal& a, const Literal& b);

}  // namespace lockstep
