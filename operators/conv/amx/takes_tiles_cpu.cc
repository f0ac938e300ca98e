// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>
#include <unistd.h>

#include "operators/conv/amx/amx.h"
#include "operators/kit/dispatch.h"
#include "operators/kit/dnnl.h"

namespace lockstep {
namespace {

// True if this process may use AMX: Linux grants the permission on request.
bool has_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  static const bool allowed = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return allowed;
}

std::string processor_refusal(const KernelRequest&) {
  if (!multiplies_bfloat16_matrices()) return "wants a processor with AMX";
  return has_tiles() ? "" : "may not use this processor's AMX";
}

std::string problem_refusal(const KernelRequest& request) {
  const ConvProblem problem(request);
  if (problem.epilogue.statistics) return "leaves sums of the result to others";
  if (!problem.is_of_images()) return "takes images";
  if (problem.group != 1) return "takes one group";
  return "";
}

}  // namespace

Refusal takes_tiles(Refusal shapes) {
  return every({processor_refusal, not_empty, problem_refusal, std::move(shapes)});
}

}  // namespace lockstep
