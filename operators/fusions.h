// What several nodes become one by, on devices that are better off with that (KernelTable).
#pragma once

#include <vector>

#include "runtime/kernel_table.h"

namespace lockstep {

std::vector<Rewrite> fusions();

}  // namespace lockstep
