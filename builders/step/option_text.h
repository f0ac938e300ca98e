// Options of a step as the texts that their parsers take.
#pragma once

#include <string>

#include "builders/all_reduce/cost.h"
#include "builders/all_reduce/packing.h"

namespace lockstep {

// parse_packing() makes the same of it: "ready:1M:25M".
std::string text_of(const Packing& packing);
// parse_topology() makes the same of it, to the last bit: "2us:10G/30us:1.2G"; "" where it is what
// a Topology is anyway.
std::string text_of(const Topology& topology);

}  // namespace lockstep
