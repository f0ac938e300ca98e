// Which numbers a Dropout draws. For the two files of this room.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace lockstep {

// Of a Dropout or a DropoutGrad.
int64_t dropout_stream(const Node& node);

}  // namespace lockstep
