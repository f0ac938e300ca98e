// SPDX-License-Identifier: Apache-2.0
// The redefined entry points of libgomp (openmp.cc).
#pragma once

namespace lockstep {

// True. A call makes the linker take openmp.cc out of a library, for a program that runs commands.
bool shares_libgomp_threads();

}  // namespace lockstep
