// SPDX-License-Identifier: Apache-2.0
#include "lockstep/kernel.h"

namespace lockstep {

std::vector<int64_t> KernelRequest::integers(std::size_t operand) const {
  supported(operand < constants.size() && constants[operand], "operand ", operand,
            " must be a constant, because shapes are static in a step");
  return constants[operand]->integers();
}

}  // namespace lockstep
