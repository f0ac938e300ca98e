// Tensors as NumPy stores them.
#pragma once

#include <string>

#include "graph/literal.h"

namespace lockstep {

// Row-major, little-endian; throws for anything else, naming the file.
Literal read_npy(const std::string& path);
void write_npy(const std::string& path, const Literal& value);

}  // namespace lockstep
