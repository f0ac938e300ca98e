// SPDX-License-Identifier: Apache-2.0
// Host kernels in a device's table: operands are copied to the host, results back. They serve what
// runs once (the init graph: one seed gives the same bits on any device), types and shapes that the
// device's kernels refuse, and operators it has no kernel for yet. The plan reports each.
#pragma once

#include "runtime/kernel/table.h"

namespace lockstep {

// An entry for each host entry: the device's own candidates, then the host's. Throws for a device
// entry that the host lacks: its name is mistyped.
std::vector<KernelEntry> with_host(std::vector<KernelEntry> own, std::vector<KernelEntry> host,
                                   Accelerator& accelerator);

// The device's own entries only; throws the same error.
std::vector<KernelEntry> without_host(std::vector<KernelEntry> own,
                                      const std::vector<KernelEntry>& host);

}  // namespace lockstep
