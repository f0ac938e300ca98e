// SPDX-License-Identifier: Apache-2.0
// The safetensors format: 8 bytes of header length, a JSON header, raw little-endian data. Reading
// executes nothing; writing is atomic. Our files have a CRC-32C of each tensor (metadata
// crc32c/NAME) and of the whole file (crc32c, computed with zeros for its digits). Every read
// checks both.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/tensor.h"
#include "runtime/state/safetensors_header.h"

namespace lockstep {

struct Safetensors {
  std::map<std::string, Literal> tensors;
  std::map<std::string, std::string> metadata;  // without the checksums
  bool checked = false;                         // true if checked against checksums in the file
};

// Metadata `format` of our files: `lockstep KIND VERSION`. Version 2 added checksums, so a file
// that lost its checksums is not mistaken for a foreign file.
inline constexpr const char* kFormatKey = "format";

// Throws if a tensor cannot have this name in a file.
void check_tensor_name(const std::string& name);
void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata);
// Throws, naming the file, if it is incomplete or not in this format.
Safetensors read_safetensors(const std::string& path);
// Reads names, shapes and metadata only; the data is not checked.
SafetensorsHeader read_safetensors_header(const std::string& path);
// Parses the contents of a file in memory; `path` is for errors.
Safetensors parse_safetensors(const std::string& file, const std::string& path);

// Returns the note for a file without checksums.
std::string unchecked_line(const std::string& path);

}  // namespace lockstep
