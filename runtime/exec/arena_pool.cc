// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/arena_pool.h"

#include "lockstep/error.h"
#include "runtime/accelerator.h"
#include "runtime/memory.h"

namespace lockstep {

void ArenaPool::fit(const Plan& plan) {
  for (std::size_t w = 0; w < plan.workers.size(); ++w) {
    const Worker& worker = plan.workers[w];
    if (w == arenas_.size()) arenas_.push_back({worker.device});
    Arena& arena = arenas_[w];
    check(arena.device == worker.device, plan.name, ": worker ", w, " is on ", worker.device,
          ", but shares its arena with one on ", arena.device);
    if (!arena.memory || arena.bytes < worker.arena_bytes)
      grow(arena.memory, arena.bytes, worker.arena_bytes, worker.device);
    if (arena.cached_bytes < worker.cached_bytes) {
      grow(arena.kept, arena.cached_bytes, worker.cached_bytes, worker.device);
      held_ = {};
    }
  }
}

void ArenaPool::grow(Memory& memory, std::size_t& bytes, std::size_t needed, Device device) {
  bytes = 0;
  memory.reset();  // first, so that old and new memory are never allocated together
  ++moves_;
  memory = accelerator_ ? accelerator_->allocate(device, needed, kFill) : allocate(needed, kFill);
  bytes = needed;
}

std::size_t ArenaPool::bytes() const {
  std::size_t sum = 0;
  for (const Arena& arena : arenas_) sum += arena.bytes + arena.cached_bytes;
  return sum;
}

}  // namespace lockstep
