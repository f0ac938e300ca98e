#include "graph/onnx.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

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

struct ExternalData {
  std::filesystem::path path;
  int64_t offset = 0;
  int64_t length = -1;
};

ExternalData external_data(const onnx::TensorProto& proto, const std::string& directory,
                           const std::string& what) {
  ExternalData data;
  std::string location;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") data.offset = std::strtoll(entry.value().c_str(), nullptr, 10);
    if (entry.key() == "length") data.length = std::strtoll(entry.value().c_str(), nullptr, 10);
  }
  // A model must not be able to read files outside its own folder.
  std::filesystem::path relative(location);
  check(!location.empty() && relative.is_relative() &&
            relative.lexically_normal().string().rfind("..", 0) != 0,
        what, ": external data location '", location, "' leaves the model's folder");
  data.path = std::filesystem::path(directory) / relative;
  return data;
}

// Is there as much data as the shape says? Asked before memory is taken for it: the shape may come
// from a damaged file.
void check_size(const onnx::TensorProto& proto, const Dims& dims, DType dtype,
                const std::string& directory, const std::string& what) {
  const auto wanted = element_count(dims) * static_cast<int64_t>(size_of(dtype));
  int64_t there = wanted;
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    ExternalData data = external_data(proto, directory, what);
    std::error_code error;
    const auto size = std::filesystem::file_size(data.path, error);
    check(!error, what, ": cannot read ", data.path.string(), ": ", error.message());
    there = data.offset < 0 ? 0 : static_cast<int64_t>(size) - data.offset;
    if (data.length >= 0) there = std::min(there, data.length);
  } else if (proto.has_raw_data()) {
    there = static_cast<int64_t>(proto.raw_data().size());
  } else {
    const int64_t values = proto.float_data_size() + proto.int32_data_size() +
                           proto.int64_data_size() + proto.double_data_size() +
                           proto.uint64_data_size();
    there = values * static_cast<int64_t>(size_of(dtype));
  }
  check(there == wanted, what, ": has ", there, " bytes of data for ", dtype, dims);
}

void copy_external(const onnx::TensorProto& proto, const std::string& directory, Literal& literal,
                   const std::string& what) {
  ExternalData data = external_data(proto, directory, what);
  const auto length = static_cast<std::streamsize>(literal.bytes().size());
  std::ifstream file(data.path, std::ios::binary);
  file.seekg(data.offset);
  file.read(reinterpret_cast<char*>(literal.bytes().data()), length);
  check(file.gcount() == length, what, ": cannot read ", length, " bytes at offset ", data.offset,
        " of ", data.path.string());
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
  supported(dtype != DType::string && name_of(dtype) != "undefined", what, ": element type ",
            proto.data_type(), " is not supported");
  const Dims dims(proto.dims().begin(), proto.dims().end());
  check_size(proto, dims, dtype, directory, what);
  Literal literal(dtype, dims);
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    copy_external(proto, directory, literal, what);
  } else if (proto.has_raw_data()) {
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
