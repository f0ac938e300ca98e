#include "graph/onnx.h"

#include <cstring>
#include <filesystem>
#include <fstream>

namespace lockstep {
namespace {

// Copies a repeated protobuf field of a wider type into the literal's elements.
template <class To, class Field>
void copy_field(const Field& field, Literal& literal, const std::string& what) {
  check(field.size() == literal.count(), what, ": holds ", field.size(), " values for shape ",
        text_of(literal.dims()));
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

void copy_external(const onnx::TensorProto& proto, const std::string& directory, Literal& literal,
                   const std::string& what) {
  std::string location;
  int64_t offset = 0;
  int64_t length = static_cast<int64_t>(literal.bytes().size());
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = std::strtoll(entry.value().c_str(), nullptr, 10);
    if (entry.key() == "length") length = std::strtoll(entry.value().c_str(), nullptr, 10);
  }
  check(length == static_cast<int64_t>(literal.bytes().size()), what, ": external data of ", length,
        " bytes for ", literal.type());
  // A model must not be able to read files outside its own folder.
  std::filesystem::path relative(location);
  check(!location.empty() && relative.is_relative() &&
            relative.lexically_normal().string().rfind("..", 0) != 0,
        what, ": external data location '", location, "' leaves the model's folder");
  auto path = std::filesystem::path(directory) / relative;
  std::ifstream file(path, std::ios::binary);
  file.seekg(offset);
  file.read(reinterpret_cast<char*>(literal.bytes().data()), length);
  check(file.gcount() == length, what, ": cannot read ", length, " bytes at offset ", offset,
        " of ", path.string());
}

}  // namespace

TensorType from_proto(const onnx::TypeProto& proto) {
  TensorType type;
  const auto& tensor = proto.tensor_type();
  type.dtype = static_cast<DType>(tensor.elem_type());
  type.ranked = tensor.has_shape();
  for (const auto& dim : tensor.shape().dim())
    type.shape.push_back(dim.has_dim_value() ? Dim(dim.dim_value()) : Dim(dim.dim_param()));
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

Literal from_proto(const onnx::TensorProto& proto, const std::string& directory,
                   const std::string& what) {
  auto dtype = static_cast<DType>(proto.data_type());
  check(dtype != DType::string && name_of(dtype) != "undefined", what, ": element type ",
        proto.data_type(), " is not supported");
  Literal literal(dtype, Dims(proto.dims().begin(), proto.dims().end()));
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    copy_external(proto, directory, literal, what);
  } else if (proto.has_raw_data()) {
    check(proto.raw_data().size() == literal.bytes().size(), what, ": holds ",
          proto.raw_data().size(), " bytes for ", literal.type());
    if (!literal.bytes().empty())
      std::memcpy(literal.bytes().data(), proto.raw_data().data(), literal.bytes().size());
  } else {
    copy_typed_data(proto, literal, what);
  }
  return literal;
}

void to_proto(const Literal& literal, onnx::TensorProto& proto) {
  proto.set_data_type(static_cast<int>(literal.dtype()));
  for (int64_t size : literal.dims()) proto.add_dims(size);
  proto.set_raw_data(literal.bytes().data(), literal.bytes().size());
}

}  // namespace lockstep
