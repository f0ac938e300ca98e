// The safetensors format: 8 bytes of header length, a JSON header, raw little-endian data. Files
// are read without executing anything and written whole or not at all.
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
  std::map<std::string, std::string> metadata;
};

void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata);
// Throws naming the file when it is not whole or not of this format.
Safetensors read_safetensors(const std::string& path);
// The contents of such a file; `path` is for errors.
Safetensors parse_safetensors(const std::string& file, const std::string& path);

}  // namespace lockstep
