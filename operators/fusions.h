// SPDX-License-Identifier: Apache-2.0
// The graph rewrites for each kind of device: fusions and cached copies (runtime/kernel/rewrite.h).
#pragma once

#include <vector>

#include "lockstep/kernel.h"

namespace lockstep {

Rewrites gpu_fusions();
Rewrites cpu_fusions();

}  // namespace lockstep
