// The header of a safetensors file, read as strictly as the format's own reader does: nothing in it
// is believed before it is compared with the size of the file.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/shape.h"

namespace lockstep {

struct StoredTensor {
  std::string name;
  DType dtype = DType::undefined;
  Dims dims;
  std::size_t begin = 0, end = 0;  // in the data behind the header
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // as they lie in the file, one behind the other
  std::map<std::string, std::string> metadata;
};

// Throws unless it is one JSON object of such entries, no name twice, each tensor's bytes what its
// type and shape need, and all together `data_bytes` without overlap, hole or rest.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::size_t data_bytes);

const char* safetensors_name(DType type);

}  // namespace lockstep
