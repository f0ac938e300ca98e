// SPDX-License-Identifier: Apache-2.0
// Dimensions and shapes. A dimension is a number, or a symbol such as the batch size
// N that is bound to a number by a plan.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "graph/dtype.h"

namespace lockstep {

using Dims = std::vector<int64_t>;
int64_t element_count(const Dims& dims);
std::string text_of(const Dims& dims);

class Dim {
 public:
  Dim(int64_t size) : size_(size) {}                                              // NOLINT
  Dim(int size) : size_(size) {}                                                  // NOLINT
  Dim(std::string symbol) : symbol_(symbol.empty() ? "?" : std::move(symbol)) {}  // NOLINT
  Dim(const char* symbol) : Dim(std::string(symbol)) {}                           // NOLINT

  bool known() const { return size_ >= 0; }
  int64_t size() const { return size_; }
  const std::string& symbol() const { return symbol_; }
  // Two unknown dimensions are equal only if they have the same name.
  friend bool operator==(const Dim& a, const Dim& b) {
    return a.size_ == b.size_ && a.symbol_ == b.symbol_ && a.symbol_ != "?";
  }

 private:
  int64_t size_ = -1;
  std::string symbol_;
};

using Shape = std::vector<Dim>;
Shape to_shape(const Dims& dims);
bool is_static(const Shape& shape);
Dims to_dims(const Shape& shape);  // throws for a symbolic dimension
std::string text_of(const Shape& shape);

// The known part of a value's type when the graph is built. `ranked` is false if inference did not
// even find the rank (in imported models only).
struct TensorType {
  DType dtype = DType::undefined;
  Shape shape;
  bool ranked = true;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};
std::string text_of(const TensorType& type);
std::ostream& operator<<(std::ostream& out, const TensorType& type);

}  // namespace lockstep
