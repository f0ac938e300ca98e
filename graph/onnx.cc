// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx.h"

#include <cstring>

#include "graph/booleans.h"
#include "graph/file.h"
#include "graph/limits.h"

namespace lockstep {
namespace {

// Copies a repeated protobuf field of a wider type into the literal's elements.
template <class To, class Field>
void copy_field(const Field& field, Literal& literal, const std::string& what) {
  check(field.size() == literal.count(), what, ": holds ", field.size(), " values for shape ",
        literal.dims());
  auto* to = reinterpret_cast<To*>(literal.bytes().data());
  for (int i = 0; i < field.size(); ++i) to[i] = static_cast<To>(field.Get(i));
}

void copy_typed_data(const onnx::TensorProto& proto, Literal& literal, const std::string& what) {
  switch (literal.dtype()) {
    case DType::float32:
      return copy_field<float>(proto.float_data(), literal, what);
    case DType::float64:
      return copy_field<double>(proto.double_data(), literal, what);
    case DType::int64:
      return copy_field<int64_t>(proto.int64_data(), literal, what);
    case DType::int32:
      return copy_field<int32_t>(proto.int32_data(), literal, what);
    case DType::int16:
      return copy_field<int16_t>(proto.int32_data(), literal, what);
    case DType::uint16:
      return copy_field<uint16_t>(proto.int32_data(), literal, what);
    case DType::int8:
      return copy_field<int8_t>(proto.int32_data(), literal, what);
    case DType::uint8:
    case DType::boolean:
      return copy_field<uint8_t>(proto.int32_data(), literal, what);
    case DType::float16:
    case DType::bfloat16:
      return copy_field<uint16_t>(proto.int32_data(), literal, what);
    case DType::uint32:
      return copy_field<uint32_t>(proto.uint64_data(), literal, what);
    case DType::uint64:
      return copy_field<uint64_t>(proto.uint64_data(), literal, what);
    default:
      fail(what, ": element type ", literal.dtype(), " is not supported");
  }
}

int64_t typed_values(const onnx::TensorProto& proto) {
  return int64_t{proto.float_data_size()} + proto.int32_data_size() + proto.int64_data_size() +
         proto.double_data_size() + proto.uint64_data_size() + proto.string_data_size();
}

// Checks that the field of the tensor's type holds one value per element, and that other fields are
// empty.
template <class Field>
void check_field(const onnx::TensorProto& proto, const Field& field, int64_t wanted,
                 const std::string& what) {
  check(field.size() == wanted && typed_values(proto) == wanted, what, ": holds ",
        typed_values(proto), " values, ", field.size(), " of them in the field of its type, for ",
        static_cast<DType>(proto.data_type()), Dims(proto.dims().begin(), proto.dims().end()));
}

template <class Field>
void check_range(const Field& field, int64_t least, int64_t most, const std::string& what) {
  for (const auto value : field)
    check(static_cast<int64_t>(value) >= least && static_cast<int64_t>(value) <= most, what,
          ": holds ", value, ", which is not between ", least, " and ", most);
}

void check_values(const onnx::TensorProto& proto, int64_t count, const std::string& what) {
  const auto dtype = static_cast<DType>(proto.data_type());
  switch (dtype) {
    case DType::float32:
      return check_field(proto, proto.float_data(), count, what);
    case DType::float64:
      return check_field(proto, proto.double_data(), count, what);
    case DType::int64:
      return check_field(proto, proto.int64_data(), count, what);
    case DType::string:
      return check_field(proto, proto.string_data(), count, what);
    case DType::uint64:
      return check_field(proto, proto.uint64_data(), count, what);
    case DType::uint32:
      check_range(proto.uint64_data(), 0, 0xffffffff, what);
      return check_field(proto, proto.uint64_data(), count, what);
    default:
      break;
  }
  check_field(proto, proto.int32_data(), count, what);
  if (dtype == DType::int32) return;
  const auto bits = static_cast<int>(8 * size_of(dtype));
  const int64_t span = int64_t{1} << bits;
  const bool is_signed = dtype == DType::int8 || dtype == DType::int16;
  // A half is stored as its 16 bits; some writers sign-extend them.
  if (is_floating(dtype))
    check_range(proto.int32_data(), -span / 2, span - 1, what);
  else if (dtype != DType::boolean)
    check_range(proto.int32_data(), is_signed ? -span / 2 : 0, (is_signed ? span / 2 : span) - 1,
                what);
}

}  // namespace

const std::string& label_of(const onnx::NodeProto& node) {
  return node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
}

TensorType from_proto(const onnx::TypeProto& proto) {
  TensorType type;
  const auto& tensor = proto.tensor_type();
  type.dtype = static_cast<DType>(tensor.elem_type());
  type.ranked = tensor.has_shape();
  // Some writers store an unknown dimension as -1.
  for (const auto& dim : tensor.shape().dim())
    type.shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? Dim(dim.dim_value())
                                                                     : Dim(dim.dim_param()));
  return type;
}

void to_proto(const TensorType& type, onnx::TypeProto& proto) {
  auto* tensor = proto.mutable_tensor_type();
  tensor->set_elem_type(static_cast<int>(type.dtype));
  if (!type.ranked) return;
  auto* shape = tensor->mutable_shape();
  for (const Dim& dim : type.shape) {
    auto* to = shape->add_dim();
    if (dim.known()) {
      to->set_dim_value(dim.size());
    } else if (dim.symbol() != "?") {
      to->set_dim_param(dim.symbol());
    }
  }
}

void check_tensor(const onnx::TensorProto& proto, const DataPlace& place, const std::string& what,
                  bool reads) {
  const auto dtype = static_cast<DType>(proto.data_type());
  supported(name_of(dtype) != "undefined", what, ": element type ", proto.data_type(),
            " is not supported");
  check(!proto.has_segment(), what, ": is a segment of a tensor, which is not supported");
  const Dims dims(proto.dims().begin(), proto.dims().end());
  const int64_t count = element_count(dims);
  const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  if (!external && !proto.has_raw_data()) return check_values(proto, count, what);
  check(dtype != DType::string, what, ": strings cannot be raw data");
  check(typed_values(proto) == 0 && !(external && proto.has_raw_data()), what,
        ": has its data in two fields");
  const int64_t wanted = count * static_cast<int64_t>(size_of(dtype));
  if (external && !reads) return check_external(proto, what);
  const int64_t there = external ? external_data(proto, place, what).length
                                 : static_cast<int64_t>(proto.raw_data().size());
  check(there == wanted, what, ": has ", there, " bytes of data for ", dtype, dims);
}

Literal from_proto(const onnx::TensorProto& proto, const DataPlace& place,
                   const std::string& what) {
  auto dtype = static_cast<DType>(proto.data_type());
  supported(dtype != DType::string, what, ": element type ", proto.data_type(),
            " is not supported");
  check_tensor(proto, place, what);
  Literal literal(dtype, Dims(proto.dims().begin(), proto.dims().end()));
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    const ExternalData data = external_data(proto, place, what);
    read_file_part(data.path, data.offset, literal.bytes());
  } else if (proto.has_raw_data()) {
    if (!literal.bytes().empty())
      std::memcpy(literal.bytes().data(), proto.raw_data().data(), literal.bytes().size());
  } else {
    copy_typed_data(proto, literal, what);
  }
  normalise_booleans(literal);
  return literal;
}

void embed(onnx::TensorProto& proto, const DataPlace& place, const std::string& what) {
  if (proto.data_location() != onnx::TensorProto::EXTERNAL) return;
  check_tensor(proto, place, what);
  const ExternalData data = external_data(proto, place, what);
  check_memory(data.length, what);
  std::string& bytes = *proto.mutable_raw_data();
  bytes.resize(data.length);
  read_file_part(data.path, data.offset, std::as_writable_bytes(std::span(bytes)));
  proto.clear_data_location();
  proto.clear_external_data();
}

void to_proto(const Literal& literal, onnx::TensorProto& proto) {
  proto.set_data_type(static_cast<int>(literal.dtype()));
  for (int64_t size : literal.dims()) proto.add_dims(size);
  proto.set_raw_data(literal.bytes().data(), literal.bytes().size());
}

}  // namespace lockstep
