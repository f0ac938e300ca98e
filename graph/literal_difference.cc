// SPDX-License-Identifier: Apache-2.0
#include "graph/literal_difference.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace lockstep {
namespace {

template <class Number>
std::string shortest_of(Number number) {
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  return error == std::errc() ? std::string(text, end) : std::to_string(number);
}

template <class T>
std::string element_text(const T& element) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return shortest_of(static_cast<float>(element));
  else if constexpr (std::is_floating_point_v<T>)
    return shortest_of(element);
  else
    return std::to_string(element);
}

// Calls body.operator()<T>() with the C++ type of the elements.
template <class Body>
auto with_element_type(DType type, const Body& body) {
  switch (type) {
    case DType::int64:
      return body.template operator()<int64_t>();
    case DType::int32:
      return body.template operator()<int32_t>();
    case DType::int16:
      return body.template operator()<int16_t>();
    case DType::int8:
      return body.template operator()<int8_t>();
    case DType::uint64:
      return body.template operator()<uint64_t>();
    case DType::uint32:
      return body.template operator()<uint32_t>();
    case DType::uint16:
      return body.template operator()<uint16_t>();
    case DType::uint8:
      return body.template operator()<uint8_t>();
    case DType::boolean:
      return body.template operator()<bool>();
    default:
      return with_floating(type, body);
  }
}

std::string index_text(int64_t element, const Dims& dims) {
  std::vector<int64_t> index(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0; element /= dims[axis])
    index[axis] = element % dims[axis];
  return text_of(index);
}

// Two elements that are not numbers do not differ, and neither do two equal infinities.
double difference_of(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::abs(a - b);
  return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
}

// Elements of boolean tensors are bytes of 0 and 1.
template <class T>
double number_of_element(const T& element) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return static_cast<float>(element);
  else
    return static_cast<double>(element);
}

}  // namespace

std::string shortest_text(double number) { return shortest_of(number); }
std::string shortest_text(float number) { return shortest_of(number); }

std::string first_difference(const Literal& a, const Literal& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return join(a.type(), " -> ", b.type());
  const auto [of_a, of_b] =
      std::mismatch(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
  if (of_a == a.bytes().end() && of_b == b.bytes().end()) return "";
  const std::size_t at = static_cast<std::size_t>(of_a - a.bytes().begin()) / size_of(a.dtype());
  return with_element_type(a.dtype(), [&]<class T>() {
    return join(index_text(static_cast<int64_t>(at), a.dims()), ": ",
                element_text(a.values<T>()[at]), " -> ", element_text(b.values<T>()[at]));
  });
}

LiteralDifference largest_difference(const Literal& a, const Literal& b) {
  check(a.dtype() == b.dtype() && a.dims() == b.dims(), "elements of ", a.type(), " and ", b.type(),
        " cannot be compared");
  return with_element_type(a.dtype(), [&]<class T>() {
    LiteralDifference found;
    const std::span<const T> of_a = a.values<T>(), of_b = b.values<T>();
    bool any = false;
    for (std::size_t i = 0; i < of_a.size(); ++i) {
      const std::size_t byte = i * sizeof(T);
      if (std::memcmp(&a.bytes()[byte], &b.bytes()[byte], sizeof(T)) == 0) continue;
      ++found.count;
      const double apart = difference_of(number_of_element(of_a[i]), number_of_element(of_b[i]));
      if (any && apart <= found.largest) continue;
      any = true;
      found.largest = apart;
      found.element = static_cast<int64_t>(i);
    }
    if (!any) return found;
    found.at = index_text(found.element, a.dims());
    found.a = element_text(of_a[static_cast<std::size_t>(found.element)]);
    found.b = element_text(of_b[static_cast<std::size_t>(found.element)]);
    return found;
  });
}

}  // namespace lockstep
