// SPDX-License-Identifier: Apache-2.0
// The clock of traces: nanoseconds of the steady clock of this host, as an integer that can be sent
// to other processes.
#pragma once

#include <chrono>
#include <cstdint>

namespace lockstep {

inline int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace lockstep
