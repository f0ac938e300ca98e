// SPDX-License-Identifier: Apache-2.0
// Small arrays in files, for tests of data sets.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "data/npy.h"
#include "lockstep/attributes.h"

namespace lockstep::testing {

// The numbers start, start + 1, ..
template <class T>
Literal counting(Dims dims, T start = 0) {
  std::vector<T> values(element_count(dims));
  std::iota(values.begin(), values.end(), start);
  return Literal::of<T>(values, std::move(dims));
}

template <class T>
Literal literal_of(std::vector<T> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Literal::of<T>(values, {count});
}

template <class T>
std::vector<T> values_of(const Literal& literal) {
  const auto values = literal.values<T>();
  return {values.begin(), values.end()};
}

}  // namespace lockstep::testing
