// SPDX-License-Identifier: Apache-2.0
// Mutations that pass the first checks of a format. Most changes of random bytes do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep::fuzz {

// libFuzzer's mutation: changes `size` bytes, which may grow to `most` bytes. Returns the new size.
using RawMutation = std::size_t (*)(uint8_t* data, std::size_t size, std::size_t most);

// An ONNX file with one or more fields changed, added, duplicated or removed.
std::string mutated_onnx(const std::string& bytes, unsigned seed, RawMutation raw);
// A PNG file with corrected checksums of its chunks.
std::string with_png_checksums(std::string bytes);

}  // namespace lockstep::fuzz
