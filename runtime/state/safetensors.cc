// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/safetensors.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "graph/booleans.h"
#include "graph/file.h"
#include "graph/metadata.h"
#include "graph/refusal.h"
#include "runtime/state/checksum.h"
#include "runtime/state/safetensors_header.h"

namespace lockstep {
namespace {

constexpr uint64_t kMostHeader = 100'000'000;  // the limit of the format's own reader
constexpr const char* kMetadata = "__metadata__";
constexpr std::string_view kNoDigits = "00000000";
// The key as Lockstep writes it. The text is unique in the header: quotes within a name or a value
// have a \ before them.
constexpr std::string_view kWhole = "\"crc32c\":\"";

std::string key_of_tensor(const std::string& name) { return "crc32c/" + name; }

// The checksum of the whole file: length and header, then each tensor's bytes.
class WholeSum {
 public:
  explicit WholeSum(std::string_view header) {
    const uint64_t length = header.size();
    sum_ = crc32c(&length, sizeof length);
    add(crc32c(header), header.size());
  }
  void add(uint32_t sum, std::size_t bytes) { sum_ = crc32c_joined(sum_, sum, bytes); }
  std::string text() const { return text_of_crc(sum_); }

 private:
  uint32_t sum_ = 0;
};

Literal literal_of(const StoredTensor& stored, std::string_view data) {
  Literal literal(stored.dtype, stored.dims);
  if (!literal.bytes().empty())
    std::memcpy(literal.bytes().data(), data.data() + stored.begin, literal.bytes().size());
  normalise_booleans(literal);
  return literal;
}

bool promises_checksums(const std::map<std::string, std::string>& metadata) {
  const auto format = metadata.find(kFormatKey);
  return format != metadata.end() && format->second.starts_with("lockstep ") &&
         !format->second.ends_with(" 1");
}

// Throws, naming the damaged tensors or other damage. Removes the checksums from the metadata.
void check_sums(std::string json, std::string_view data, SafetensorsHeader& header) {
  auto& metadata = header.metadata;
  const std::string said = metadata.at("crc32c");
  metadata.erase("crc32c");
  const auto at = json.find(kWhole);
  check(at != json.npos && said.size() == kNoDigits.size(), "its checksum '", said,
        "' is not in its place: the file is damaged, or another program rewrote it with the old "
        "metadata");
  json.replace(at + kWhole.size(), kNoDigits.size(), kNoDigits);
  WholeSum whole(json);
  std::string damaged;
  for (const StoredTensor& stored : header.tensors) {
    const std::size_t bytes = stored.end - stored.begin;
    const uint32_t sum = crc32c(data.substr(stored.begin, bytes));
    whole.add(sum, bytes);
    const auto expected = metadata.find(key_of_tensor(stored.name));
    check(expected != metadata.end(), "the checksum of tensor '", stored.name, "' is missing");
    if (expected->second != text_of_crc(sum))
      damaged += join(damaged.empty() ? "'" : ", '", stored.name, "'");
    metadata.erase(expected);
  }
  check(damaged.empty(), "damaged: the data of ", damaged, " does not match its checksum");
  check(whole.text() == said, "damaged: the file does not match its checksum ", said,
        ", but gives ", whole.text());
}

std::string header_of(const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::vector<uint32_t>& sums,
                      std::map<std::string, std::string> metadata) {
  nlohmann::ordered_json header;
  std::size_t end = 0;
  metadata["crc32c"] = kNoDigits;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    metadata[key_of_tensor(tensors[i].first)] = text_of_crc(sums[i]);
  for (const auto& [key, value] : metadata) check_metadata(key, value);
  header[kMetadata] = metadata;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t bytes = tensor.desc.bytes();
    header[name] = {{"dtype", safetensors_name(tensor.desc.dtype)},
                    {"shape", tensor.desc.dims},
                    {"data_offsets", {end, end + bytes}}};
    end += bytes;
  }
  // A path in the metadata may contain any bytes; JSON is UTF-8.
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // keeps data 8-byte aligned
  WholeSum whole(text);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    whole.add(sums[i], tensors[i].second.desc.bytes());
  return text.replace(text.find(kWhole) + kWhole.size(), kNoDigits.size(), whole.text());
}

// Returns the length of the header, from the file's first bytes. `size`: the size of the file.
uint64_t header_length(const std::string& start, std::size_t size, const std::string& path) {
  uint64_t length = 0;
  check(start.size() >= sizeof(length), path, ": not a safetensors file (", size, " bytes)");
  std::memcpy(&length, start.data(), sizeof(length));
  check(length <= size - sizeof(length), path,
        ": not a safetensors file, or a truncated one (header of ", length, " bytes, file of ",
        size, ")");
  check(length <= kMostHeader, path, ": a header of ", length, " bytes; the format allows at most ",
        kMostHeader);
  return length;
}

}  // namespace

void check_tensor_name(const std::string& name) {
  check(name != kMetadata, "'", name,
        "' cannot be stored: a safetensors file keeps its metadata under this name; rename the "
        "tensor");
}

void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<uint32_t> sums;
  for (const auto& [name, tensor] : tensors) check_tensor_name(name);
  for (const auto& [name, tensor] : tensors)
    sums.push_back(crc32c(tensor.data, tensor.desc.bytes()));
  const std::string header = header_of(tensors, sums, metadata);
  write_file(path, [&](const FileSink& sink) {
    uint64_t length = header.size();
    sink(std::as_bytes(std::span(&length, 1)));
    sink(std::as_bytes(std::span(header)));
    for (const auto& [name, tensor] : tensors)
      sink({static_cast<const std::byte*>(tensor.data), tensor.desc.bytes()});
  });
}

Safetensors read_safetensors(const std::string& path) {
  return parse_safetensors(read_file(path), path);
}

SafetensorsHeader read_safetensors_header(const std::string& path) {
  const std::string start = read_file_start(path, sizeof(uint64_t));
  std::error_code trouble;
  const std::size_t size = std::filesystem::file_size(path, trouble);
  check(!trouble, "cannot read ", refusal_text(path, trouble));
  std::string json(header_length(start, size, path), '\0');
  read_file_part(path, sizeof(uint64_t), std::as_writable_bytes(std::span(json)));
  try {
    return parse_safetensors_header(json, size - sizeof(uint64_t) - json.size());
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
}

Safetensors parse_safetensors(const std::string& file, const std::string& path) {
  const uint64_t length = header_length(file, file.size(), path);
  const std::string_view json = std::string_view(file).substr(sizeof(length), length);
  const std::string_view data = std::string_view(file).substr(sizeof(length) + length);
  Safetensors result;
  try {
    SafetensorsHeader header = parse_safetensors_header(json, data.size());
    result.checked = header.metadata.contains("crc32c");
    check(result.checked || !promises_checksums(header.metadata), "its checksum is missing");
    if (result.checked) check_sums(std::string(json), data, header);
    for (const StoredTensor& stored : header.tensors)
      result.tensors.emplace(stored.name, literal_of(stored, data));
    result.metadata = std::move(header.metadata);
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
  return result;
}

std::string unchecked_line(const std::string& path) {
  return path + " has no checksums, so damage to its numbers would not be detected";
}

}  // namespace lockstep
