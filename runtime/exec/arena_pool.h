// SPDX-License-Identifier: Apache-2.0
// The arenas of plans that run one at a time, one arena for each worker, as large as the largest of
// these plans needs. Between runs an arena holds nothing but the fetches of the last one. Beside
// the arenas is memory for what a plan keeps for its next run (Plan::kept): that of one plan at a
// time, or of several that keep the same, as a network's for images of several sizes do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/accelerator.h"
#include "runtime/plan/plan.h"

namespace lockstep {

class ArenaPool {
 public:
  static constexpr auto kFill = std::byte{0xA5};  // the initial content

  // `accelerator`: that of the plans' devices, or null for host memory; must outlive the pool.
  explicit ArenaPool(Accelerator* accelerator = nullptr) : accelerator_(accelerator) {}

  // Makes the arenas large enough for this plan, which moves those that grow. All plans must have
  // their workers on the same devices.
  void fit(const Plan& plan);

  std::byte* arena(std::size_t worker) const { return arenas_[worker].memory.get(); }
  std::byte* kept(std::size_t worker) const { return arenas_[worker].kept.get(); }
  // The identity of the values in the kept memory, and the count of changes (States::changes) when
  // they were made. null: nobody can say, as during a run.
  struct Kept {
    std::shared_ptr<const KeptIdentity> identity;
    uint64_t at = 0;
  };
  const Kept& held() const { return held_; }
  void hold(Kept kept) { held_ = std::move(kept); }

  std::size_t bytes() const;            // of all arenas, and of what is kept
  int moves() const { return moves_; }  // how often arenas have moved

 private:
  struct Arena {
    Device device;
    std::size_t bytes = 0;
    Memory memory = {};
    std::size_t kept_bytes = 0;
    Memory kept = {};
  };
  void grow(Memory& memory, std::size_t& bytes, std::size_t needed, Device device);

  Accelerator* accelerator_;
  std::vector<Arena> arenas_;  // by worker
  int moves_ = 0;
  Kept held_;
};

}  // namespace lockstep
