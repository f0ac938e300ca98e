// Padded channel blocks (TensorDesc) in kernels of the CPU that treat memory as a flat list.
#pragma once

#include "runtime/kernel_table.h"

namespace lockstep {

// A candidate that makes 0 of zeros. It computes padding as if it were channels, and so keeps it 0.
Candidate keeping_zeros(Candidate candidate);

// After a kernel that made other numbers of zeros. Allocates nothing.
void clear_padding(const Tensor& tensor);

}  // namespace lockstep
