// What a message takes in memory once it is parsed. Two bytes of a file make an empty node of two
// hundred, so a file says less than it costs.
#pragma once

#include <cstddef>
#include <string_view>

namespace google::protobuf {
class Descriptor;
}

namespace lockstep {

// Counted by walking the bytes, without taking memory. What is no such message may answer with
// anything: parsing will refuse it.
std::size_t parsed_size(std::string_view bytes, const google::protobuf::Descriptor& type);

}  // namespace lockstep
