// SPDX-License-Identifier: Apache-2.0
// The safetensors format: 8 bytes of header length, a JSON header, raw little-endian data. Reading
// executes nothing; writing is atomic. Our files carry a CRC-32C of each tensor (metadata
// crc32c/NAME) and of the whole file (crc32c; computed with its own digits as zeros); both are
// checked on every read.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/literal.h"
#include "runtime/state/safetensors_header.h"
#include "runtime/tensor.h"

namespace lockstep {

struct Safetensors {
  std::map<std::string, Literal> tensors;
  std::map<std::string, std::string> metadata;  // without the checksums
  bool checked = false;                         // against checksums in the file
};

// Metadata `format` of our files: `lockstep KIND VERSION`. Version 2 added checksums, so a file
// that lost them is not mistaken for a foreign one.
inline constexpr const char* kFormatKey = "format";

// Throws if no tensor can be stored under that name.
void check_tensor_name(const std::string& name);
void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata);
// Throws naming the file if it is incomplete or not of this format.
Safetensors read_safetensors(const std::string& path);
// The names, shapes and metadata alone, with nothing checked against the data.
SafetensorsHeader read_safetensors_header(const std::string& path);
// The contents of a file in memory; `path` is for errors.
Safetensors parse_safetensors(const std::string& file, const std::string& path);

// The note for a file without checksums.
std::string unchecked_line(const std::string& path);

}  // namespace lockstep
