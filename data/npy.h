// SPDX-License-Identifier: Apache-2.0
// Tensors in NumPy's file format.
#pragma once

#include <string>

#include "graph/literal.h"

namespace lockstep {

// Row-major, little-endian; throws for others, naming the file.
Literal read_npy(const std::string& path);
void write_npy(const std::string& path, const Literal& value);

}  // namespace lockstep
