// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file, parsed as strictly as the format's own reader does: nothing is
// trusted before it is checked against the file's size.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/types.h"

namespace lockstep {

struct StoredTensor {
  std::string name;
  DType dtype = DType::undefined;
  Dims dims;
  std::size_t begin = 0, end = 0;  // in the data after the header
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // in file order
  std::map<std::string, std::string> metadata;
};

// Throws unless `json` is one object of tensors and metadata without duplicates, each tensor's
// bytes match its type and shape, and all tensors fill `data_bytes` without overlap or gap.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::size_t data_bytes);

std::string_view safetensors_name(DType type);

}  // namespace lockstep
