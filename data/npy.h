// SPDX-License-Identifier: Apache-2.0
// Reads and writes tensors in NumPy's file format.
#pragma once

#include <string>

#include "lockstep/attributes.h"

namespace lockstep {

// Reads row-major, little-endian arrays. Throws for other arrays. The error names the file.
Literal read_npy(const std::string& path);
void write_npy(const std::string& path, const Literal& value);

}  // namespace lockstep
