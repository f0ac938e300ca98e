// SPDX-License-Identifier: Apache-2.0
// The memory of a plan, by kind, known before anything is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/plan/plan.h"

namespace lockstep {

// In bytes, as allocated: large memory in whole pages.
struct PlannedMemory {
  std::size_t arenas = 0;   // values, and workspaces of kernels
  std::size_t states = 0;   // of the session: parameters, slots, statistics; a shared one once
  std::size_t kept = 0;     // values that a run keeps for the next run
  std::size_t scratch = 0;  // constants; on GPUs also copies for kernels that run on the host
  std::size_t loader = 0;   // minibatches on the host; no part of a plan, so callers set it

  friend bool operator==(const PlannedMemory&, const PlannedMemory&) = default;
  std::size_t all() const;
  // The parts by name, in this order.
  std::array<std::pair<std::string_view, std::size_t>, 5> parts() const;
};

// Of the whole plan, or of one worker: scratch belongs to no worker.
PlannedMemory planned_memory(const Plan& plan);
PlannedMemory planned_memory(const Plan& plan, int worker);

// "1.2 GiB: arenas 1 GiB, states 195 MiB, kept 0 bytes, scratch 9 MiB, loader 0 bytes"
std::string text_of(const PlannedMemory& memory);

}  // namespace lockstep
