// SPDX-License-Identifier: Apache-2.0
// Constant folding with the CPU kernels.
#pragma once

#include <vector>

#include "graph/passes/bind.h"
#include "lockstep/kernel.h"

namespace lockstep {

// Returns a folder that computes small nodes (at most 64 KiB of results) on the CPU and skips nodes
// without a CPU kernel. `tables` must outlive the folder.
Folder folder_for(const std::vector<KernelTable>& tables);

// Runs a node on the given operands; null for an omitted input.
std::vector<Literal> run_node(const KernelTable& table, const Node& node,
                              const std::vector<const Literal*>& operands);

}  // namespace lockstep
