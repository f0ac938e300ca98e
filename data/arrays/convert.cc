// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/convert.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace lockstep {
namespace {

template <class T>
inline constexpr bool is_real = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Elements may have any address: headers have any length.
template <class T>
T element(const std::byte* from, int64_t i) {
  if constexpr (std::is_same_v<T, bool>) {
    return from[i] != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    return value;
  }
}

template <class From, class To>
bool fits(From value) {
  if constexpr (is_real<To> || std::is_same_v<From, bool>)
    return true;
  else if constexpr (std::is_same_v<To, bool>)
    return value == 0 || value == 1;
  else
    return std::in_range<To>(value);
}

template <class From, class To>
int64_t convert(const std::byte* from, std::byte* to, int64_t count) {
  if constexpr (std::is_same_v<From, To> && !std::is_same_v<From, bool>) {
    if (count > 0) std::memcpy(to, from, count * sizeof(To));
  } else {
    using Through =
        std::conditional_t<is_real<To>,
                           std::conditional_t<std::is_same_v<To, double>, double, float>, To>;
    for (int64_t i = 0; i < count; ++i) {
      const From value = element<From>(from, i);
      if (!fits<From, To>(value)) return i;
      const To result(static_cast<Through>(value));  // NOLINT: a signed char is a number
      std::memcpy(to + i * sizeof(To), &result, sizeof(To));
    }
  }
  return -1;
}

// Returns body.operator()<T>() for the C++ type of an element type.
template <class Body>
ConvertElements with_element(DType type, const Body& body) {
  switch (type) {
    case DType::boolean:
      return body.template operator()<bool>();
    case DType::uint8:
      return body.template operator()<uint8_t>();
    case DType::int8:
      return body.template operator()<int8_t>();
    case DType::uint16:
      return body.template operator()<uint16_t>();
    case DType::int16:
      return body.template operator()<int16_t>();
    case DType::uint32:
      return body.template operator()<uint32_t>();
    case DType::int32:
      return body.template operator()<int32_t>();
    case DType::uint64:
      return body.template operator()<uint64_t>();
    case DType::int64:
      return body.template operator()<int64_t>();
    default:
      return with_floating(type, body);
  }
}

}  // namespace

ConvertElements array_conversion(DType from, DType to) {
  return with_element(from, [&]<class From>() {
    return with_element(to, [&]<class To>() -> ConvertElements {
      if constexpr (is_real<From> && !is_real<To>)
        return nullptr;
      else
        return convert<From, To>;
    });
  });
}

}  // namespace lockstep
