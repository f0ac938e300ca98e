// SPDX-License-Identifier: Apache-2.0
// Stub for builds without convolutions by columns.
#include "operators/conv/columns/columns.h"

namespace lockstep {

std::vector<ConvImplementation> column_convolutions() { return {}; }

const columns::ColumnLoops* columns::loops_here() { return nullptr; }

}  // namespace lockstep
