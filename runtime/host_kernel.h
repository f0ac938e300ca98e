// The host's kernel in a device's table: operands come to the host, results go back. It is for what
// runs once (the init graph: the seed decides the same bits on any device) and for operators that
// the device has no kernel for yet; the plan says so.
#pragma once

#include "runtime/kernel.h"

namespace lockstep {

KernelFactory on_host(KernelFactory kernel, Accelerator& accelerator);

}  // namespace lockstep
