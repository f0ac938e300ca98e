// SPDX-License-Identifier: Apache-2.0
// Images as bytes, which a network's first nodes turn into floats. In plans those nodes become one:
//   ByteTable (x, table) -> y   y[n, c, ..] = table[c, x[n, c, ..]]
//     x: uint8; table: floats of any width, [C, 256], or [1, 256] for all channels; y: its type
#pragma once

#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

// One node of each cast of bytes to float32, of the sums, differences, products and quotients with
// a constant or one by channel that follow, and of a cast to 16 bits. A function of a byte is a
// table, which those operators' own arithmetic fills: no bit changes.
Rewritten fuse_byte_tables(const Graph& graph, const Known& known);

Op byte_table_op();
KernelEntry byte_table_cpu();
KernelEntry byte_table_cuda();

}  // namespace lockstep
