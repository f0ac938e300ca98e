// The safetensors format: 8 bytes of header length, a JSON header, raw little-endian data. Files
// are read without executing anything and written whole or not at all. Those we write carry a
// CRC-32C of each tensor (metadata crc32c/NAME) and of the whole file (crc32c; computed with the
// digits of this one as zeros); both are checked when such a file is read, whoever reads it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/literal.h"
#include "runtime/tensor.h"

namespace lockstep {

struct Safetensors {
  std::map<std::string, Literal> tensors;
  std::map<std::string, std::string> metadata;  // but for the checksums
  bool checked = false;                         // by checksums that the file carries
};

// Metadata `format` of a file of ours is `lockstep KIND VERSION`. From version 2 on there are
// checksums, so that a file which lost them is not taken for one of somebody else's.
inline constexpr const char* kFormatKey = "format";

void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata);
// Throws naming the file when it is not whole or not of this format.
Safetensors read_safetensors(const std::string& path);
// The contents of such a file; `path` is for errors.
Safetensors parse_safetensors(const std::string& file, const std::string& path);

// What is said of a file without checksums.
std::string unchecked_line(const std::string& path);

}  // namespace lockstep
