// SPDX-License-Identifier: Apache-2.0
// Element types, dimensions and shapes. A fact about an element type is a field of its TypeInfo.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {

// 16-bit floats are for storage: arithmetic converts them to float. Half is IEEE binary16.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  // Rounds to nearest, ties to even.
  explicit Half(float value);
  operator float() const;  // NOLINT: widening is exact
};

// The upper 16 bits of a float.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  // Rounds to nearest, ties to even.
  explicit BFloat16(float value) {
    const auto wide = std::bit_cast<uint32_t>(value);
    const bool is_nan = (wide & 0x7FFFFFFFU) > 0x7F800000U;
    bits = static_cast<uint16_t>(is_nan ? (wide >> 16) | 0x40U
                                        : (wide + 0x7FFFU + ((wide >> 16) & 1U)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }  // NOLINT
};

// Values equal ONNX's TensorProto.DataType.
enum class DType : int {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  bfloat16 = 16,
};

struct TypeInfo {
  DType type;
  std::string_view name;
  std::size_t size;  // bytes of an element; 0: no tensor can store the type
  // Names in files, .safetensors and .npy; "": the format has none.
  std::string_view safetensors = "", npy = "";
  bool is_floating = false;
  bool is_narrow = false;          // a float for storage; kernels compute in float32
  bool wants_scaled_loss = false;  // small gradients underflow
};
std::span<const TypeInfo> all_types();
const TypeInfo& info_of(DType type);  // accepts `undefined`, which has size 0

std::string_view name_of(DType type);
DType dtype_named(std::string_view name);  // throws for an unknown name
std::size_t size_of(DType type);           // bytes of one element; throws for strings
bool is_floating(DType type);
bool is_narrow(DType type);
bool computes_in_float32(DType type);  // float32 and all narrow types
// Names of all narrow types, for error texts: "float16 or bfloat16".
std::string narrow_names();
std::ostream& operator<<(std::ostream& out, DType type);

// Returns body.operator()<T>() for the C++ type of a narrow float, or of any float. Throws for
// every other type.
template <class Body>
decltype(auto) with_narrow(DType type, const Body& body) {
  switch (type) {
    case DType::float16:
      return body.template operator()<Half>();
    case DType::bfloat16:
      return body.template operator()<BFloat16>();
    default:
      fail_as<Unsupported>(type, " is not ", narrow_names());
  }
}
template <class Body>
decltype(auto) with_floating(DType type, const Body& body) {
  switch (type) {
    case DType::float32:
      return body.template operator()<float>();
    case DType::float64:
      return body.template operator()<double>();
    default:
      return with_narrow(type, body);
  }
}

// Dimensions and shapes. A dimension is a number, or a symbol such as the batch size N, which a
// plan binds to a number.
using Dims = std::vector<int64_t>;
// Throws for a negative dimension, and for more elements than memory can hold.
int64_t element_count(const Dims& dims);
std::string text_of(const Dims& dims);

class Dim {
 public:
  // A number, or a symbol. The symbol ? (or "") stands for an unknown number.
  Dim(int64_t size) : size_(size) {}                                              // NOLINT
  Dim(int size) : size_(size) {}                                                  // NOLINT
  Dim(std::string symbol) : symbol_(symbol.empty() ? "?" : std::move(symbol)) {}  // NOLINT
  Dim(const char* symbol) : Dim(std::string(symbol)) {}                           // NOLINT

  bool known() const { return size_ >= 0; }
  int64_t size() const { return size_; }                 // -1 for a symbol
  const std::string& symbol() const { return symbol_; }  // "" for a number
  // Symbols are equal if they have the same name; ? is not even equal to itself.
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

// The type of a value, as far as the graph knows it. `ranked` is false if inference did not find
// the rank, which happens in imported models only.
struct TensorType {
  DType dtype = DType::undefined;
  Shape shape;
  bool ranked = true;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};
std::string text_of(const TensorType& type);
std::ostream& operator<<(std::ostream& out, const TensorType& type);

}  // namespace lockstep
