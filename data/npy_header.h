// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "lockstep/types.h"

namespace lockstep {

struct NpyHeader {
  DType dtype = DType::undefined;
  Dims dims = {};
  int64_t start = 0;  // of the elements in the file
  int64_t bytes = 0;  // of the elements
};

// Reads the header by `next`, which fills its argument with the file's next bytes. Throws, naming
// `path`, unless the elements are row-major and little-endian, and are within the file's `size`.
NpyHeader read_npy_header(int64_t size, const std::string& path,
                          const std::function<void(std::span<std::byte>)>& next);

}  // namespace lockstep
