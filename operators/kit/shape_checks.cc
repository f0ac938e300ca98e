// SPDX-License-Identifier: Apache-2.0
#include "operators/kit/shape_checks.h"

namespace lockstep {
namespace {

// An operand's type; null if it is omitted or its rank is unknown.
const TensorType* ranked(const Inference& inference, std::size_t i) {
  const bool given = i < inference.inputs.size() && inference.inputs[i];
  return given && inference.inputs[i]->ranked ? inference.inputs[i] : nullptr;
}

}  // namespace

bool may_be(const Dim& a, const Dim& b) { return !a.known() || !b.known() || a.size() == b.size(); }

bool may_be(const Shape& a, const Shape& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; i < a.size() && same; ++i) same = may_be(a[i], b[i]);
  return same;
}

std::string what_is(const Inference& inference, std::size_t i) {
  return join(inference.name_of(i), ", is ", inference.input(i));
}

void demand_alike(const Inference& inference, std::initializer_list<std::size_t> operands) {
  const std::size_t first = *operands.begin();
  const TensorType& expected = inference.input(first);
  for (const std::size_t i : operands) {
    if (i >= inference.inputs.size() || !inference.inputs[i]) continue;
    const TensorType& type = *inference.inputs[i];
    const bool fits = !type.ranked || !expected.ranked || may_be(type.shape, expected.shape);
    if (!fits || type.dtype != expected.dtype)
      fail(what_is(inference, i), ", ", inference.name_of(first), ", ", expected,
           "; their types and shapes should be equal");
  }
}

void demand_shape(const Inference& inference, std::size_t i, const Shape& expected) {
  const TensorType* type = ranked(inference, i);
  if (type && !may_be(type->shape, expected)) fail(what_is(inference, i), ", should be ", expected);
}

void demand_dims(const Inference& inference, std::size_t i, std::size_t count) {
  const TensorType* type = ranked(inference, i);
  if (type && type->shape.size() != count)
    fail(what_is(inference, i), ", should have ", count, " dimensions");
}

void demand_at_least_dims(const Inference& inference, std::size_t i, std::size_t count) {
  const TensorType* type = ranked(inference, i);
  if (type && type->shape.size() < count)
    fail(what_is(inference, i), ", should have at least ", count, " dimensions");
}

void demand_one_element(const Inference& inference, std::size_t i) {
  const TensorType* type = ranked(inference, i);
  if (!type) return;
  for (const Dim& dim : type->shape)
    if (!may_be(dim, 1)) fail(what_is(inference, i), ", should be one element");
}

void demand_type(const Inference& inference, std::size_t i, DType expected) {
  if (i < inference.inputs.size() && inference.inputs[i] && inference.input(i).dtype != expected)
    fail(what_is(inference, i), ", should be of ", expected);
}

void all_alike(Inference& inference) {
  for (std::size_t i = 1; i < inference.inputs.size(); ++i) demand_alike(inference, {0, i});
  for (TensorType& output : inference.outputs) output = inference.input(0);
}

}  // namespace lockstep
