// SPDX-License-Identifier: Apache-2.0
#include "runtime/finite.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "lockstep/types.h"

namespace lockstep {
namespace {

// An exponent of all ones means NaN or infinity. Pieces have a compile-time length, so that the
// compiler vectorises.
template <class Bits, Bits exponent>
struct Look {
  static constexpr int64_t kPiece = 1024;

  static bool strange(Bits bits) { return (bits & exponent) == exponent; }

  static bool any(const Bits* bits, int64_t count) {
    Bits found = 0;
    for (int64_t i = 0; i < count; ++i) found |= strange(bits[i]) ? Bits{1} : Bits{0};
    return found != 0;
  }

  static int64_t first(const void* data, int64_t count) {
    const auto* bits = static_cast<const Bits*>(data);
    int64_t at = 0;
    while (at + kPiece <= count && !any(bits + at, kPiece)) at += kPiece;
    for (; at < count; ++at)
      if (strange(bits[at])) return at;
    return -1;
  }
};

using LookAtFloats = Look<uint32_t, 0x7F800000U>;

float value_at(const Tensor& tensor, int64_t place) {
  return with_floating(tensor.desc.dtype,
                       [&]<class T>() { return static_cast<float>(tensor.as<T>()[place]); });
}

}  // namespace

int64_t first_not_finite(const Tensor& tensor) {
  if (!tensor.data || !is_floating(tensor.desc.dtype)) return -1;
  const int64_t count = tensor.desc.places();
  switch (tensor.desc.dtype) {
    case DType::float32:
      return LookAtFloats::first(tensor.data, count);
    case DType::float64:
      return Look<uint64_t, 0x7FF0000000000000U>::first(tensor.data, count);
    case DType::float16:
      return Look<uint16_t, 0x7C00U>::first(tensor.data, count);
    case DType::bfloat16:
      return Look<uint16_t, 0x7F80U>::first(tensor.data, count);
    default:
      fail("internal: no infinity of ", tensor.desc.dtype, " is known");
  }
}

int64_t first_nan(const Tensor& tensor) {
  const int64_t count = tensor.desc.places();
  int64_t place = first_not_finite(tensor);
  while (place >= 0 && place < count && !std::isnan(value_at(tensor, place))) ++place;
  return place < count ? place : -1;
}

bool all_finite(const float* values, int64_t count) {
  return LookAtFloats::first(values, count) < 0;
}

std::string text_of_value(const Tensor& tensor, int64_t place) {
  const float value = value_at(tensor, place);
  return std::isnan(value) ? "nan" : join(value);  // the sign of a NaN means nothing
}

std::string text_of_place(const Dims& dims, int64_t place) {
  Dims at(dims.size());
  for (std::size_t i = dims.size(); i-- > 0; place /= dims[i]) at[i] = place % dims[i];
  return text_of(at);
}

}  // namespace lockstep
