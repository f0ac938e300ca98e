// SPDX-License-Identifier: Apache-2.0
#include "lockstep/types.h"

#include <ostream>

namespace lockstep {
namespace {

constexpr TypeInfo kTypes[] = {
    {DType::float32, "float32", 4, "F32", "<f4", true},
    {DType::uint8, "uint8", 1, "U8", "|u1"},
    {DType::int8, "int8", 1, "I8", "|i1"},
    {DType::uint16, "uint16", 2, "U16", "<u2"},
    {DType::int16, "int16", 2, "I16", "<i2"},
    {DType::int32, "int32", 4, "I32", "<i4"},
    {DType::int64, "int64", 8, "I64", "<i8"},
    {DType::string, "string", 0},
    {DType::boolean, "bool", 1, "BOOL", "|b1"},
    {DType::float16, "float16", 2, "F16", "<f2", true, true, true},
    {DType::float64, "float64", 8, "F64", "<f8", true},
    {DType::uint32, "uint32", 4, "U32", "<u4"},
    {DType::uint64, "uint64", 8, "U64", "<u8"},
    {DType::bfloat16, "bfloat16", 2, "BF16", "", true, true},
};

}  // namespace

std::span<const TypeInfo> all_types() { return kTypes; }

const TypeInfo& info_of(DType type) {
  static constexpr TypeInfo kUndefined{DType::undefined, "undefined", 0};
  for (const TypeInfo& info : kTypes)
    if (info.type == type) return info;
  return kUndefined;
}

std::string_view name_of(DType type) { return info_of(type).name; }

DType dtype_named(std::string_view name) {
  for (const TypeInfo& info : kTypes)
    if (info.name == name) return info.type;
  fail("unknown element type '", name, "'");
}

std::size_t size_of(DType type) {
  const std::size_t size = info_of(type).size;
  supported(size > 0, "a tensor of element type ", type, " cannot be stored");
  return size;
}

bool is_floating(DType type) { return info_of(type).is_floating; }
bool is_narrow(DType type) { return info_of(type).is_narrow; }
bool computes_in_float32(DType type) { return type == DType::float32 || is_narrow(type); }

std::string narrow_names() {
  std::string names;
  for (const TypeInfo& info : kTypes)
    if (info.is_narrow) names += join(names.empty() ? "" : " or ", info.name);
  return names;
}

std::ostream& operator<<(std::ostream& out, DType type) { return out << name_of(type); }

}  // namespace lockstep
