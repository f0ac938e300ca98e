// SPDX-License-Identifier: Apache-2.0
// Whether threads can be started, asked before they are needed: within a step nothing can be said.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

// Starts `count` threads that live at the same time, and ends them. `begun` becomes the number of
// those started, also if one cannot be and std::thread's exception is thrown.
void try_threads(int64_t count, std::size_t& begun);

}  // namespace lockstep
