#include "operators/content.h"

#include <algorithm>
#include <functional>

namespace lockstep {
namespace {

// The only entry of operand `i` as a number.
std::optional<int64_t> scalar_of(const Inference& inference, std::size_t i) {
  auto content = content_of(inference, i);
  if (!content || content->size() != 1) return std::nullopt;
  return number_of(content->front());
}

std::optional<Dim> combined(std::string_view op, const Dim& a, const Dim& b) {
  auto x = number_of(a), y = number_of(b);
  if (x && y) {
    if (op == "Add") return Dim(*x + *y);
    if (op == "Sub") return Dim(*x - *y);
    if (op == "Mul") return Dim(*x * *y);
    if (op == "Div" && *y != 0) return Dim(*x / *y);
    return std::nullopt;
  }
  const int64_t neutral = op == "Add" || op == "Sub" ? 0 : 1;
  if (y == neutral) return a;
  if (x == neutral && (op == "Add" || op == "Mul")) return b;
  return std::nullopt;
}

}  // namespace

std::optional<Shape> content_of(const Inference& inference, std::size_t i) {
  if (i >= inference.inputs.size() || !inference.inputs[i]) return std::nullopt;
  const Literal* literal = inference.constants[i];
  if (literal && (literal->dtype() == DType::int64 || literal->dtype() == DType::int32) &&
      literal->dims().size() <= 1)
    return to_shape(literal->integers());
  if (const Shape* content = inference.contents[i]) return *content;
  return std::nullopt;
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

std::optional<Shape> same_content(Inference& inference) { return content_of(inference, 0); }

std::optional<Shape> content_of_gather(Inference& inference) {
  auto data = content_of(inference, 0), indices = content_of(inference, 1);
  if (!data || !indices) return std::nullopt;
  Shape picked;
  for (const Dim& entry : *indices) {
    auto index = number_of(entry);
    const int64_t size = static_cast<int64_t>(data->size());
    if (!index || *index < -size || *index >= size) return std::nullopt;
    picked.push_back((*data)[static_cast<std::size_t>(*index < 0 ? *index + size : *index)]);
  }
  return picked;
}

std::optional<Shape> content_of_concat(Inference& inference) {
  Shape all;
  for (std::size_t i = 0; i < inference.inputs.size(); ++i) {
    auto part = content_of(inference, i);
    if (!part) return std::nullopt;
    all.insert(all.end(), part->begin(), part->end());
  }
  return all;
}

std::optional<Shape> content_of_slice(Inference& inference) {
  auto data = content_of(inference, 0);
  auto start = scalar_of(inference, 1), end = scalar_of(inference, 2);
  const bool stepped = inference.inputs.size() > 4 && inference.inputs[4];
  if (!data || !start || !end || (stepped && scalar_of(inference, 4) != 1)) return std::nullopt;
  const int64_t size = static_cast<int64_t>(data->size());
  auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t first = place(*start), last = place(*end);
  if (first >= last) return Shape{};
  return Shape(data->begin() + first, data->begin() + last);
}

std::optional<Shape> content_of_arithmetic(Inference& inference) {
  auto a = content_of(inference, 0), b = content_of(inference, 1);
  if (!a || !b || inference.inputs.size() != 2) return std::nullopt;
  const std::size_t size = std::max(a->size(), b->size());
  if ((a->size() != size && a->size() != 1) || (b->size() != size && b->size() != 1))
    return std::nullopt;
  Shape result;
  for (std::size_t i = 0; i < size; ++i) {
    auto entry = combined(inference.op, (*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]);
    if (!entry) return std::nullopt;
    result.push_back(*entry);
  }
  return result;
}

}  // namespace lockstep
