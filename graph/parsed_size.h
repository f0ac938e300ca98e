// SPDX-License-Identifier: Apache-2.0
// The memory of a protobuf message after parsing. The size of a file is no bound: two bytes make an
// empty node of two hundred bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace google::protobuf {
class Descriptor;
}

namespace lockstep {

// Computed by walking the bytes, without allocating. For malformed bytes the result is arbitrary:
// parsing will reject them.
std::size_t parsed_size(std::string_view bytes, const google::protobuf::Descriptor& type);

}  // namespace lockstep
