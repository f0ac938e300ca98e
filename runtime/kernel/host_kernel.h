// SPDX-License-Identifier: Apache-2.0
// Host kernels in a device's table: operands are copied to the host, results back. They serve nodes
// that run once (the init graph: a seed gives the same bits on any device), types and shapes that
// the device's kernels refuse, and operators without a device kernel. The plan reports each.
#pragma once

#include "lockstep/kernel.h"
#include "runtime/accelerator.h"

namespace lockstep {

// Returns an entry for each host entry: the device's candidates, then the host's. Throws for a
// device entry that the host lacks: its name is mistyped.
std::vector<KernelEntry> with_host(std::vector<KernelEntry> own, std::vector<KernelEntry> host,
                                   Accelerator& accelerator);

// Returns only the device's entries. Throws the same error.
std::vector<KernelEntry> without_host(std::vector<KernelEntry> own,
                                      const std::vector<KernelEntry>& host);

}  // namespace lockstep
