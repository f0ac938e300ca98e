// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/amx/takes_tiles.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "operators/kit/dispatch.h"

namespace lockstep {
namespace {

// Linux lets a process have tiles when it asks.
bool has_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  static const bool allowed = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return allowed;
}

std::string wants_tiles(const KernelRequest&) {
  return has_tiles() ? "" : "may not use this processor's AMX";
}

}  // namespace

Refusal takes_tiles(Refusal processor, Refusal shapes) {
  return every(
      {takes<Types<BFloat16>>(), std::move(processor), wants_tiles, not_empty, std::move(shapes)});
}

}  // namespace lockstep
