// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/data_propagation.h"

#include <algorithm>
#include <initializer_list>

#include "operators/kit/axis_loop.h"
#include "operators/kit/operator_helpers.h"
#include "operators/kit/symbolic_size.h"
#include "operators/kit/wrapping_arithmetic.h"

namespace lockstep {
namespace {

// The only entry of operand `i`, as a number.
std::optional<int64_t> scalar_of(const Inference& inference, std::size_t i) {
  auto content = content_of(inference, i);
  if (!content || content->size() != 1) return std::nullopt;
  return number_of(content->front());
}

constexpr std::size_t kMost = 256;  // limit on entries of a tracked vector

Dim of_numbers(std::string_view op, int64_t a, int64_t b) {
  if (op == "Add") return plus(a, b);
  if (op == "Sub") return minus(a, b);
  if (op == "Mul") return times(a, b);
  if (op == "Max") return std::max(a, b);
  if (op == "Min") return std::min(a, b);
  if (op == "Equal") return a == b ? 1 : 0;
  if (b == 0) return "?";
  if (op == "Div") return quotient(a, b);
  if (op == "Mod") {  // the result has the divisor's sign, as ONNX defines for fmod 0
    const int64_t rest = remainder_of(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  return "?";
}

Dim of_sizes(std::string_view op, const OpenSize& a, const OpenSize& b) {
  if (op == "Add") return (a + b).dim();
  if (op == "Sub") return (a - b).dim();
  if (op == "Mul") return (a * b).dim();
  if (op == "Max" && (a - b).not_negative()) return a.dim();
  if (op == "Max" && (b - a).not_negative()) return b.dim();
  if (op == "Equal" && a == b) return 1;
  if (op == "Equal" && ((a - b - 1).not_negative() || (b - a - 1).not_negative())) return 0;
  if (op != "Div" && op != "Mod") return "?";
  auto quotient = OpenSize::quotient(a, b);
  return !quotient ? Dim("?") : op == "Div" ? quotient->dim() : Dim(0);
}

Dim combined(std::string_view op, const Dim& a, const Dim& b) {
  if (auto x = number_of(a), y = number_of(b); x && y) return of_numbers(op, *x, *y);
  const auto x = OpenSize::of(a), y = OpenSize::of(b);
  return x && y ? of_sizes(op, *x, *y) : Dim("?");
}

// The content of operand `i`, of any rank, in row-major order.
std::optional<Shape> entries_of(const Inference& inference, std::size_t i) {
  if (i >= inference.inputs.size() || !inference.inputs[i]) return std::nullopt;
  const Literal* literal = inference.constants[i];
  if (literal && literal->count() <= static_cast<int64_t>(kMost)) {
    if (literal->dtype() == DType::int64 || literal->dtype() == DType::int32)
      return to_shape(literal->integers());
    if (literal->dtype() == DType::boolean) {
      const auto truths = literal->values<bool>();
      return Shape(truths.begin(), truths.end());
    }
  }
  if (const Shape* content = inference.contents[i]) return *content;
  return std::nullopt;
}

// "?" for each entry of a vector of known length.
std::optional<Shape> unknown_entries(const TensorType& type) {
  if (!type.ranked || type.shape.size() != 1 || !type.shape[0].known()) return std::nullopt;
  if (type.shape[0].size() > static_cast<int64_t>(kMost)) return std::nullopt;
  return Shape(type.shape[0].size(), Dim("?"));
}

// Entry i of a vector, or the only entry of a vector of length 1.
const Dim& entry_of(const Shape& vector, std::size_t i) {
  return vector[vector.size() == 1 ? 0 : i];
}

// The common length of vectors; empty if they do not match.
std::optional<std::size_t> common_length(std::initializer_list<const Shape*> vectors) {
  std::size_t length = 1;
  for (const Shape* vector : vectors)
    if (vector->size() != 1) length = vector->size();
  for (const Shape* vector : vectors)
    if (vector->size() != 1 && vector->size() != length) return std::nullopt;
  return length;
}

}  // namespace

std::optional<Shape> content_of(const Inference& inference, std::size_t i) {
  if (i >= inference.inputs.size() || !inference.inputs[i]) return std::nullopt;
  const TensorType& type = *inference.inputs[i];
  return type.ranked && type.shape.size() <= 1 ? entries_of(inference, i) : std::nullopt;
}

std::optional<int64_t> number_of(const Dim& entry) {
  if (!entry.symbol().empty()) return std::nullopt;
  return entry.size();
}

std::optional<Shape> content_of_shape(Inference& inference) {
  const TensorType& x = inference.input(0);
  if (!x.ranked) return std::nullopt;
  const int64_t rank = static_cast<int64_t>(x.shape.size());
  auto place = [&](const char* name, int64_t fallback) {
    int64_t at = inference.attributes.integer(name, fallback);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = place("start", 0), end = place("end", rank);
  if (start >= end) return Shape{};
  return Shape(x.shape.begin() + start, x.shape.begin() + end);
}

std::optional<Shape> same_content(Inference& inference) { return entries_of(inference, 0); }

std::optional<Shape> content_of_gather(Inference& inference) {
  auto data = content_of(inference, 0), indices = content_of(inference, 1);
  if (!data || !indices) return std::nullopt;
  Shape picked;
  for (const Dim& entry : *indices) {
    auto index = number_of(entry);
    const int64_t size = static_cast<int64_t>(data->size());
    if (!index || *index < -size || *index >= size) return std::nullopt;
    picked.push_back((*data)[*index < 0 ? *index + size : *index]);
  }
  return picked;
}

std::optional<Shape> content_of_concat(Inference& inference) {
  Shape all;
  for (std::size_t i = 0; i < inference.inputs.size(); ++i) {
    auto part = content_of(inference, i);
    if (!part) part = unknown_entries(inference.input(i));
    if (!part) return std::nullopt;
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

std::optional<Shape> content_of_slice(Inference& inference) {
  const TensorType& x = inference.input(0);
  const auto data = entries_of(inference, 0);
  const auto start = scalar_of(inference, 1), end = scalar_of(inference, 2);
  auto given = [&](std::size_t i, int64_t otherwise) {
    return i < inference.inputs.size() && inference.inputs[i] ? scalar_of(inference, i)
                                                              : std::optional(otherwise);
  };
  const auto axis = given(3, 0), step = given(4, 1);
  if (!data || !start || !end || !axis || !step || *step == 0) return std::nullopt;
  if (!x.ranked || x.shape.empty() || !is_static(x.shape)) return std::nullopt;
  const Dims dims = to_dims(x.shape);
  const AroundAxis around(dims, normal_axes({*axis}, dims.size())[0]);
  const int64_t last = *step > 0 ? around.size : around.size - 1, least = *step > 0 ? 0 : -1;
  auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + around.size : at, least, last);
  };
  Shape picked;
  for (int64_t o = 0; o < around.outer; ++o)
    for (int64_t at = place(*start); *step > 0 ? at < place(*end) : at > place(*end); at += *step)
      for (int64_t i = 0; i < around.inner; ++i)
        picked.push_back((*data)[(o * around.size + at) * around.inner + i]);
  return picked;
}

std::optional<Shape> content_of_transpose(Inference& inference) {
  const TensorType& x = inference.input(0);
  const auto data = entries_of(inference, 0);
  if (!data || !x.ranked || x.shape.size() != 2 || !is_static(x.shape)) return std::nullopt;
  const std::vector<int64_t> order = inference.attributes.integers("perm", {1, 0});
  if (order != std::vector<int64_t>{1, 0}) return data;
  const std::size_t rows = x.shape[0].size();
  const std::size_t columns = x.shape[1].size();
  Shape turned;
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t r = 0; r < rows; ++r) turned.push_back((*data)[r * columns + c]);
  return turned;
}

std::optional<Shape> content_of_arithmetic(Inference& inference) {
  auto a = content_of(inference, 0), b = content_of(inference, 1);
  if (!a || !b || inference.inputs.size() != 2) return std::nullopt;
  auto length = common_length({&*a, &*b});
  if (!length || inference.attributes.integer("fmod", 0) != 0) return std::nullopt;
  Shape result;
  for (std::size_t i = 0; i < *length; ++i)
    result.push_back(combined(inference.op, entry_of(*a, i), entry_of(*b, i)));
  return result;
}

std::optional<Shape> content_of_where(Inference& inference) {
  auto condition = content_of(inference, 0), a = content_of(inference, 1),
       b = content_of(inference, 2);
  if (!condition || !a || !b) return std::nullopt;
  auto length = common_length({&*condition, &*a, &*b});
  if (!length) return std::nullopt;
  Shape result;
  for (std::size_t i = 0; i < *length; ++i) {
    const auto chosen = number_of(entry_of(*condition, i));
    const Dim &yes = entry_of(*a, i), &no = entry_of(*b, i);
    result.push_back(!chosen ? yes == no ? yes : Dim("?") : *chosen != 0 ? yes : no);
  }
  return result;
}

std::optional<Shape> content_of_expand(Inference& inference) {
  auto data = content_of(inference, 0), to = content_of(inference, 1);
  if (!data || !to || data->empty() || to->size() != 1) return std::nullopt;
  const auto length = number_of(to->front());
  if (!length || *length < 1 || *length > static_cast<int64_t>(kMost)) return std::nullopt;
  if (data->size() == 1) return Shape(*length, data->front());
  return data;
}

std::optional<Shape> content_of_fill(Inference& inference) {
  auto to = content_of(inference, 0);
  if (!to || to->size() > 1) return std::nullopt;
  const auto length = to->empty() ? 1 : number_of(to->front());
  if (!length || *length < 0 || *length > static_cast<int64_t>(kMost)) return std::nullopt;
  const Literal value =
      inference.attributes.literal("value", Literal::of<float>(std::vector<float>{0}, {1}));
  if (value.dtype() != DType::int64 && value.dtype() != DType::int32) return std::nullopt;
  return Shape(*length, Dim(value.integers()[0]));
}

std::optional<Shape> content_of_range(Inference& inference) {
  auto start = scalar_of(inference, 0), end = scalar_of(inference, 1),
       step = scalar_of(inference, 2);
  if (!start || !end || !step || *step == 0) return std::nullopt;
  Shape numbers;
  for (int64_t at = *start; *step > 0 ? at < *end : at > *end;) {
    if (numbers.size() == kMost) return std::nullopt;
    numbers.emplace_back(at);
    if (__builtin_add_overflow(at, *step, &at)) break;
  }
  return numbers;
}

std::optional<Shape> content_of_product(Inference& inference) {
  auto data = content_of(inference, 0);
  if (!data) return std::nullopt;
  Dim product = 1;
  for (const Dim& entry : *data) product = combined("Mul", product, entry);
  return Shape{product};
}

std::optional<Shape> content_of_size(Inference& inference) {
  if (!inference.input(0).ranked) return std::nullopt;
  Dim product = 1;
  for (const Dim& size : inference.input(0).shape) product = combined("Mul", product, size);
  return Shape{product};
}

}  // namespace lockstep
