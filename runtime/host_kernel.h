// The host's kernels in a device's table: operands come to the host, results go back. They are for
// what runs once (the init graph: the seed decides the same bits on any device), for types and
// shapes that the device's kernels refuse, and for operators that it has none for yet; the plan
// says so.
#pragma once

#include "runtime/kernel_table.h"

namespace lockstep {

// An entry for each of the host's: the device's own candidates, then the host's. Throws for an
// entry of the device that the host lacks: its name is mistyped.
std::vector<KernelEntry> with_host(std::vector<KernelEntry> own, std::vector<KernelEntry> host,
                                   Accelerator& accelerator);

// The device's own entries alone; the same error.
std::vector<KernelEntry> without_host(std::vector<KernelEntry> own,
                                      const std::vector<KernelEntry>& host);

}  // namespace lockstep
