// SPDX-License-Identifier: Apache-2.0
// Lists of element types. A kernel names its list once. The candidate refuses other types by the
// list (`takes`), and prepare maps a type known at plan time to a template argument (`dispatch`).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/error.h"
#include "operators/kit/refusals.h"

namespace lockstep {

template <class... T>
struct Types {};

using Float32 = Types<float>;
using Floats = Types<float, double>;
using Numbers = Types<float, double, int32_t, int64_t>;
using Integers = Types<int32_t, int64_t>;
using Unsigned = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using Booleans = Types<bool>;
// Floats including the 16-bit floats that GPUs compute with.
using TensorFloats = Types<float, Half, BFloat16>;
using NarrowFloats = Types<Half, BFloat16>;
using AllFloats = Types<float, double, Half, BFloat16>;
using AllNumbers = Types<float, double, int32_t, int64_t, Half, BFloat16>;

template <class... T>
std::vector<DType> dtypes_of(Types<T...>) {
  return {dtype_of<T>()...};
}

// `takes`: the operand, unless omitted, has a type of the list. `makes`: the first result has.
template <class List>
Refusal takes(std::size_t operand = 0) {
  return takes_types(dtypes_of(List()), operand);
}
template <class List>
Refusal makes() {
  return makes_types(dtypes_of(List()));
}

template <class First, class... Rest, class Make>
auto dispatch_among(Types<First, Rest...>, DType dtype, Make& make) {
  std::optional<decltype(make.template operator()<First>())> made;
  auto try_type = [&]<class T>() {
    if (dtype == dtype_of<T>()) made = make.template operator()<T>();
  };
  try_type.template operator()<First>();
  (try_type.template operator()<Rest>(), ...);
  supported(made.has_value(), text_of_types(dtypes_of(Types<First, Rest...>()), dtype));
  return std::move(*made);
}

// Returns make.operator()<T>() for the T of the list that `dtype` names. Throws for any other type;
// a refusal by the same list rules this out.
template <class List, class Make>
auto dispatch(DType dtype, Make&& make) {
  return dispatch_among(List(), dtype, make);
}

// Calls body.operator()<T>() for the T of the list that `dtype` names. Suits inner loops: the
// error's text is composed only if the type is refused.
template <class List, class Body>
void with_type(DType dtype, Body&& body) {
  [&]<class... T>(Types<T...>) {
    const bool known = ((dtype == dtype_of<T>() && (body.template operator()<T>(), true)) || ...);
    if (!known) fail(text_of_types(dtypes_of(List()), dtype));
  }(List());
}

// Calls `make` for an unsigned type of the dtype's size. For kernels that only move data.
template <class Make>
std::unique_ptr<Kernel> of_size(DType dtype, Make&& make) {
  switch (size_of(dtype)) {
    case 1:
      return make.template operator()<uint8_t>();
    case 2:
      return make.template operator()<uint16_t>();
    case 4:
      return make.template operator()<uint32_t>();
    default:
      return make.template operator()<uint64_t>();
  }
}

}  // namespace lockstep
