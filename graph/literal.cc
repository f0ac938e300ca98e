// SPDX-License-Identifier: Apache-2.0
#include "lockstep/attributes.h"

#include "graph/booleans.h"

namespace lockstep {
namespace {

template <class T>
void print_values(std::ostringstream& text, const Literal& literal) {
  constexpr std::size_t kMost = 8;
  auto values = literal.values<T>();
  for (std::size_t i = 0; i < values.size() && i < kMost; ++i)
    text << (i > 0 ? "," : "") << +values[i];
  if (values.size() > kMost) text << ",..";
}

}  // namespace

std::vector<int64_t> Literal::integers() const {
  if (dtype_ == DType::int32) {
    auto narrow = values<int32_t>();
    return {narrow.begin(), narrow.end()};
  }
  auto wide = values<int64_t>();
  return {wide.begin(), wide.end()};
}

std::string text_of(const Literal& literal) {
  std::ostringstream text;
  text << literal.type() << "{";
  switch (literal.dtype()) {
    case DType::float32:
      print_values<float>(text, literal);
      break;
    case DType::float64:
      print_values<double>(text, literal);
      break;
    case DType::int64:
      print_values<int64_t>(text, literal);
      break;
    case DType::int32:
      print_values<int32_t>(text, literal);
      break;
    case DType::uint8:
      print_values<uint8_t>(text, literal);
      break;
    case DType::int8:
      print_values<int8_t>(text, literal);
      break;
    case DType::boolean:
      print_values<bool>(text, literal);
      break;
    default:
      text << literal.bytes().size() << " bytes";
  }
  text << "}";
  return text.str();
}

void normalise_booleans(Literal& literal) {
  if (literal.dtype() != DType::boolean) return;
  for (std::byte& value : literal.bytes())
    if (value != std::byte{0}) value = std::byte{1};
}

}  // namespace lockstep
