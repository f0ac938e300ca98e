#include "runtime/safetensors.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "graph/file.h"

namespace lockstep {
namespace {

constexpr std::array<std::pair<DType, const char*>, 12> kNames{{
    {DType::float32, "F32"},
    {DType::float64, "F64"},
    {DType::float16, "F16"},
    {DType::bfloat16, "BF16"},
    {DType::int64, "I64"},
    {DType::int32, "I32"},
    {DType::int16, "I16"},
    {DType::int8, "I8"},
    {DType::uint8, "U8"},
    {DType::uint16, "U16"},
    {DType::uint32, "U32"},
    {DType::boolean, "BOOL"},
}};

const char* format_name(DType type) {
  for (const auto& [known, name] : kNames)
    if (known == type) return name;
  fail("safetensors has no name for element type ", type);
}

DType type_named(const std::string& name) {
  for (const auto& [type, known] : kNames)
    if (name == known) return type;
  fail("element type '", name, "' is not supported");
}

Literal read_tensor(const nlohmann::json& entry, std::string_view data) {
  DType dtype = type_named(entry.at("dtype").get<std::string>());
  Literal literal(dtype, entry.at("shape").get<Dims>());
  auto range = entry.at("data_offsets").get<std::vector<std::size_t>>();
  check(range.size() == 2 && range[0] <= range[1] && range[1] <= data.size(),
        "its data lies outside the file");
  check(range[1] - range[0] == literal.bytes().size(), "it has ", range[1] - range[0],
        " bytes for ", literal.type());
  if (!literal.bytes().empty())
    std::memcpy(literal.bytes().data(), data.data() + range[0], literal.bytes().size());
  return literal;
}

}  // namespace

void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  std::size_t end = 0;
  for (const auto& [name, tensor] : tensors) {
    std::size_t bytes = tensor.desc.bytes();
    header[name] = {{"dtype", format_name(tensor.desc.dtype)},
                    {"shape", tensor.desc.dims},
                    {"data_offsets", {end, end + bytes}}};
    end += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data stays 8-byte aligned
  write_file(path, [&](const FileSink& sink) {
    uint64_t length = text.size();
    sink(std::as_bytes(std::span(&length, 1)));
    sink(std::as_bytes(std::span(text)));
    for (const auto& [name, tensor] : tensors)
      sink({static_cast<const std::byte*>(tensor.data), tensor.desc.bytes()});
  });
}

Safetensors read_safetensors(const std::string& path) {
  return parse_safetensors(read_file(path), path);
}

Safetensors parse_safetensors(const std::string& file, const std::string& path) {
  uint64_t length = 0;
  check(file.size() >= sizeof(length), path, ": not a safetensors file (", file.size(), " bytes)");
  std::memcpy(&length, file.data(), sizeof(length));
  check(length <= file.size() - sizeof(length), path,
        ": not a safetensors file, or a truncated one (header of ", length, " bytes, file of ",
        file.size(), ")");
  Safetensors result;
  try {
    std::string_view all = file;
    auto header = nlohmann::json::parse(all.substr(sizeof(length), length));
    std::string_view data = all.substr(sizeof(length) + length);
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        result.metadata = entry.get<std::map<std::string, std::string>>();
        continue;
      }
      try {
        result.tensors.emplace(name, read_tensor(entry, data));
      } catch (const Error& error) {
        fail("tensor '", name, "': ", error.what());
      }
    }
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  } catch (const nlohmann::json::exception& error) {
    fail(path, ": the header is damaged: ", error.what());
  }
  return result;
}

}  // namespace lockstep
