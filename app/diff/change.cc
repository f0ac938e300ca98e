// SPDX-License-Identifier: Apache-2.0
#include "app/diff/change.h"

namespace lockstep {

std::string_view name_of(DiffPart part) {
  constexpr std::string_view kNames[] = {"configuration", "model",   "inference", "init",
                                         "step",          "buckets", "metadata",  "plan",
                                         "weights",       "results"};
  return kNames[static_cast<int>(part)];
}

std::string_view name_of(DiffKind kind) {
  constexpr std::string_view kNames[] = {"only in A", "only in B", "changed", "renamed", "moved"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace lockstep
