// SPDX-License-Identifier: Apache-2.0
#include "app/unused_auxiliaries.h"

#include "app/no_sums.h"
#include "graph/auxiliaries.h"
#include "lockstep/error.h"

namespace lockstep {

std::string unused_auxiliaries_note(const TrainingModel& model) {
  const int unused = unused_auxiliaries(model);
  if (unused == 0) return "";
  std::string why = why_no_sums(model);
  if (why.empty()) why = "no tensor of this step is summed there";
  return join("AUX_DEVICES: ", unused, " of ", auxiliaries_of(model), " auxiliary devices ",
              unused == 1 ? "has" : "have", " nothing to do: ", why,
              "; name fewer (AUX_DEVICES, --aux-devices)");
}

}  // namespace lockstep
