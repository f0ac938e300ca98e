// SPDX-License-Identifier: Apache-2.0
// Sizes that depend on open dimensions: sums of products such as 4*N + 1. The text of a sum is the
// symbol of the dimension, so that sizes computed from the batch size stay known until planning.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/types.h"

namespace lockstep {

class OpenSize {
 public:
  OpenSize(int64_t number) { add({}, number); }  // NOLINT: a number is a size
  // Empty for "?", an unknown size.
  static std::optional<OpenSize> of(const Dim& dim);

  Dim dim() const;
  std::optional<int64_t> number() const;  // empty while symbols are left
  // True if the size is certainly not negative, because symbols stand for sizes.
  bool not_negative() const;

  friend OpenSize operator+(const OpenSize& a, const OpenSize& b);
  friend OpenSize operator-(const OpenSize& a, const OpenSize& b);
  friend OpenSize operator*(const OpenSize& a, const OpenSize& b);
  // a / b if b divides a exactly for all sizes of the symbols.
  static std::optional<OpenSize> quotient(const OpenSize& a, const OpenSize& b);
  friend bool operator==(const OpenSize&, const OpenSize&) = default;

 private:
  using Product = std::vector<std::string>;  // symbols, sorted

  OpenSize() = default;
  void add(const Product& symbols, int64_t factor);
  std::string text() const;

  std::map<Product, int64_t> terms_;  // factors, none of them 0
};

}  // namespace lockstep
