#include "runtime/exec/arena_pool.h"

#include "graph/error.h"

namespace lockstep {

void ArenaPool::fit(const Plan& plan) {
  for (std::size_t w = 0; w < plan.workers.size(); ++w) {
    const Worker& worker = plan.workers[w];
    if (w == arenas_.size()) arenas_.push_back({worker.device, 0, {}});
    Arena& arena = arenas_[w];
    check(arena.device == worker.device, plan.name, ": worker ", w, " is on ", worker.device,
          ", but shares its arena with one on ", arena.device);
    if (arena.memory && arena.bytes >= worker.arena_bytes) continue;
    arena.bytes = 0;
    arena.memory.reset();  // first, so that never both are taken
    ++moves_;
    arena.memory = accelerator_ ? accelerator_->allocate(worker.device, worker.arena_bytes, kFill)
                                : allocate(worker.arena_bytes, kFill);
    arena.bytes = worker.arena_bytes;
  }
}

std::size_t ArenaPool::bytes() const {
  std::size_t sum = 0;
  for (const Arena& arena : arenas_) sum += arena.bytes;
  return sum;
}

}  // namespace lockstep
