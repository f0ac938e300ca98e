// SPDX-License-Identifier: Apache-2.0
// Changes that get past the first checks of a format, where bytes changed anywhere mostly do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lockstep::fuzz {

// libFuzzer's own: changes `size` bytes, of which there may become `most`; answers with how many.
using RawMutation = std::size_t (*)(uint8_t* data, std::size_t size, std::size_t most);

// An ONNX file with a field or a few changed, added, doubled or taken away.
std::string mutated_onnx(const std::string& bytes, unsigned seed, RawMutation raw);
// A PNG file whose chunks' checksums are right again.
std::string with_png_checksums(std::string bytes);

}  // namespace lockstep::fuzz
