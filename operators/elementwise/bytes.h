// SPDX-License-Identifier: Apache-2.0
// Images as bytes, which a network's first nodes turn into floats. Plans replace these nodes by one
// node:
//   ByteTable (x, table) -> y   y[n, c, ..] = table[c, x[n, c, ..]]
//     x: uint8; y: the table's type
//     table: floats of any width, [C, 256], or [1, 256] for all channels
#pragma once

#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

// Replaces each cast of bytes to float32 and the nodes after it by one node. These nodes are sums,
// differences, products and quotients with a constant (a scalar or one number per channel), and a
// final cast to 16 bits. A function of a byte is a table, filled by the replaced operators'
// arithmetic: no bit changes.
Rewritten fuse_byte_tables(const Graph& graph, const RewriteContext& context);

Op byte_table_op();
KernelEntry byte_table_cpu();
KernelEntry byte_table_cuda();

}  // namespace lockstep
