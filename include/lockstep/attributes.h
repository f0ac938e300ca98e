// SPDX-License-Identifier: Apache-2.0
// Constant tensors (Literal), and the attributes of nodes: written as a list of names and values,
// read by type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lockstep/error.h"
#include "lockstep/types.h"

namespace lockstep {

// The element type of a C++ type; `undefined` for any other type.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  if constexpr (std::is_same_v<T, double>) return DType::float64;
  if constexpr (std::is_same_v<T, int64_t>) return DType::int64;
  if constexpr (std::is_same_v<T, int32_t>) return DType::int32;
  if constexpr (std::is_same_v<T, uint8_t>) return DType::uint8;
  if constexpr (std::is_same_v<T, int8_t>) return DType::int8;
  if constexpr (std::is_same_v<T, int16_t>) return DType::int16;
  if constexpr (std::is_same_v<T, uint16_t>) return DType::uint16;
  if constexpr (std::is_same_v<T, uint32_t>) return DType::uint32;
  if constexpr (std::is_same_v<T, uint64_t>) return DType::uint64;
  if constexpr (std::is_same_v<T, Half>) return DType::float16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::bfloat16;
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  return DType::undefined;
}

// A constant tensor that owns its elements, in row-major order.
class Literal {
 public:
  Literal() = default;
  // Zeros.
  Literal(DType dtype, Dims dims)
      : dtype_(dtype), dims_(std::move(dims)), bytes_(element_count(dims_) * size_of(dtype)) {}

  // Copies the values. Throws if their number does not match the shape.
  template <class T>
  static Literal of(std::span<const T> values, Dims dims) {
    Literal literal(dtype_of<T>(), std::move(dims));
    check(literal.count() == static_cast<int64_t>(values.size()), "a literal of shape ",
          literal.dims_, " cannot be made of ", values.size(), " values");
    if (!values.empty()) std::memcpy(literal.bytes_.data(), values.data(), literal.bytes_.size());
    return literal;
  }
  template <class T>
  static Literal scalar(T value) {
    return of<T>({&value, 1}, {});
  }
  // Numbers rounded to a floating type; throws for any other type.
  template <class T>
  static Literal rounded(DType type, std::span<const T> values, Dims dims) {
    return with_floating(type, [&]<class To>() {
      using Through = std::conditional_t<std::is_same_v<To, double>, double, float>;
      std::vector<To> all;
      for (const T value : values) all.push_back(To(static_cast<Through>(value)));
      return of<To>(all, std::move(dims));
    });
  }
  static Literal rounded_scalar(DType type, double value) {
    return rounded<double>(type, {&value, 1}, {});
  }
  static Literal vector(const std::vector<int64_t>& values) {
    return of<int64_t>(values, {static_cast<int64_t>(values.size())});
  }

  DType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  int64_t count() const { return element_count(dims_); }
  TensorType type() const { return {dtype_, to_shape(dims_)}; }

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<std::byte> bytes() { return bytes_; }
  // The elements; valid while the literal is. Throws if T is not the element type.
  template <class T>
  std::span<const T> values() const {
    check(dtype_ == dtype_of<T>(), "a literal of ", dtype_, " was read as ", dtype_of<T>());
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  // The elements of an int32 or int64 literal, as int64: for shape and axis inputs. Throws for any
  // other type.
  std::vector<int64_t> integers() const;

  friend bool operator==(const Literal&, const Literal&) = default;

 private:
  DType dtype_ = DType::undefined;
  Dims dims_;
  std::vector<std::byte> bytes_;
};

// `float32[2]{1, 0.5}`; cut after eight values.
std::string text_of(const Literal& literal);

using AttributeValue =
    std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, Literal>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

// Reads a node's attributes by name, each with a default. done() then rejects the attributes that
// were not read: a misspelt attribute is an error, never a silent default. Reading a name twice, or
// as another type, is an error, too.
class AttributeReader {
 public:
  struct Members;
  // For graph/, which makes readers (graph/attribute_reader.h). The node must outlive the reader.
  explicit AttributeReader(std::unique_ptr<Members> members);
  AttributeReader(const AttributeReader& other);
  AttributeReader(AttributeReader&&) noexcept;
  AttributeReader& operator=(AttributeReader&&) noexcept;
  ~AttributeReader();

  bool has(std::string_view name) const;  // true if the attribute is set and not read yet
  int64_t integer(std::string_view name, int64_t fallback);
  float number(std::string_view name, float fallback);
  // A list of strings is read as one text, joined by commas.
  std::string text(std::string_view name, std::string_view fallback);
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> fallback = {});
  std::vector<float> numbers(std::string_view name, std::vector<float> fallback = {});
  Literal literal(std::string_view name, const Literal& fallback = {});
  // Throws for an attribute that was not read, except names that begin with __.
  void done() const;

  const std::string& owner() const;  // the node's name, for errors

 private:
  std::unique_ptr<Members> members_;
};

}  // namespace lockstep
