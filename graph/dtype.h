// SPDX-License-Identifier: Apache-2.0
// Element types. A fact about a type is a field of its row in one table (dtype.cc).
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "graph/error.h"
#include "graph/half.h"

namespace lockstep {

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
const TypeInfo& info_of(DType type);  // `undefined` has size 0

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

// A library's name for an element type.
template <class Name>
using TypeName = std::pair<DType, Name>;
template <class Name, std::size_t count>
Name name_in(const TypeName<Name> (&names)[count], DType type, const char* library) {
  for (const auto& [known, name] : names)
    if (known == type) return name;
  fail_as<Unsupported>(library, " does not take ", type);
}

}  // namespace lockstep
