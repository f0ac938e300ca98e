// SPDX-License-Identifier: Apache-2.0
// Checks that threads can be started, before a step needs them: a step could not report the error.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep {

// Starts `count` threads that live at the same time, and ends them. `begun` gets the number of
// started threads, also if std::thread's exception is thrown.
void try_threads(int64_t count, std::size_t& begun);

}  // namespace lockstep
