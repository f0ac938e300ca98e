// SPDX-License-Identifier: Apache-2.0
// The rewrites of each kind of device, fusions and kept copies (runtime/kernel/rewrite.h).
#pragma once

#include <vector>

#include "runtime/kernel/table.h"

namespace lockstep {

Rewrites gpu_fusions();
Rewrites cpu_fusions();

}  // namespace lockstep
