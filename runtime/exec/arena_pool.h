// The arenas of plans that run one at a time, one arena for each worker, as large as the largest of
// these plans needs. Between runs an arena holds nothing but the fetches of the last one. Beside
// the arenas is memory for what a plan keeps for its next run (Plan::kept): that of one plan at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // Who fills the kept memory takes a number, which stays the last one for as long as what was kept
  // is there.
  uint64_t keep_anew() { return ++keeper_; }
  uint64_t keeper() const { return keeper_; }

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
  uint64_t keeper_ = 0;
};

}  // namespace lockstep
