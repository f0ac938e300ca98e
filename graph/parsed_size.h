// SPDX-License-Identifier: Apache-2.0
// A message's memory after parsing. Two bytes of a file make an empty node of two hundred, so the
// size of a file is no bound.
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
