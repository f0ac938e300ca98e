// Options of a step as text, in the form that their parsers read.
#pragma once

#include <string>

#include "builders/all_reduce/cost.h"
#include "builders/all_reduce/packing.h"

namespace lockstep {

// Read back by parse_packing(): "ready:1M:25M".
std::string text_of(const Packing& packing);
// Read back exactly by parse_topology(): "2us:10G/30us:1.2G"; "" for the default Topology.
std::string text_of(const Topology& topology);

}  // namespace lockstep
