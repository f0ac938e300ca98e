// SPDX-License-Identifier: Apache-2.0
// The arenas of plans that run one at a time. Each worker has one arena, as large as the largest of
// the plans needs. Between runs an arena holds only the fetches of the last run. Separate memory
// holds the values that a plan keeps for its next run (Plan::kept). This memory serves one plan at
// a time, or several plans that keep equal values, such as a network's plans for images of several
// sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/accelerator.h"
#include "runtime/memory.h"
#include "runtime/plan/plan.h"

namespace lockstep {

class ArenaPool {
 public:
  static constexpr auto kFill = std::byte{0xA5};  // the initial content of arenas

  // `accelerator`: of the plans' devices, or null for host memory; must outlive the pool.
  explicit ArenaPool(Accelerator* accelerator = nullptr) : accelerator_(accelerator) {}

  // Grows the arenas to fit this plan; an arena that grows moves. All plans must have their workers
  // on the same devices.
  void fit(const Plan& plan);

  std::byte* arena(std::size_t worker) const { return arenas_[worker].memory.get(); }
  std::byte* kept(std::size_t worker) const { return arenas_[worker].kept.get(); }
  // The identity of the values in the kept memory, and the count of changes (States::changes) when
  // they were made. null: unknown, as during a run.
  struct Kept {
    std::shared_ptr<const CacheIdentity> identity;
    uint64_t at = 0;
  };
  const Kept& held() const { return held_; }
  void hold(Kept kept) { held_ = std::move(kept); }

  std::size_t bytes() const;            // of all arenas and kept memory
  int moves() const { return moves_; }  // the number of moves of arenas

 private:
  struct Arena {
    Device device;
    std::size_t bytes = 0;
    Memory memory = {};
    std::size_t cached_bytes = 0;
    Memory kept = {};
  };
  void grow(Memory& memory, std::size_t& bytes, std::size_t needed, Device device);

  Accelerator* accelerator_;
  std::vector<Arena> arenas_;  // by worker
  int moves_ = 0;
  Kept held_;
};

}  // namespace lockstep
