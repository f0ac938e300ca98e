#include "tools/unused_auxiliaries.h"

#include <algorithm>

#include "graph/auxiliaries.h"
#include "graph/error.h"

namespace lockstep {

std::string unused_auxiliaries_note(const TrainingModel& model) {
  const int unused = unused_auxiliaries(model);
  if (unused == 0) return "";
  const char* why = "no tensor of this step is summed there";
  if (std::max(model.replicas, model.whole_replicas) == 1)
    why = "a step of one replica sums no gradients";
  else if (model.gradients.empty())
    why = "a forward pass alone has no gradients to sum";
  return join("AUX_DEVICES: ", unused, " of ", auxiliaries_of(model), " auxiliary devices ",
              unused == 1 ? "has" : "have", " nothing to do: ", why,
              "; ask for fewer (AUX_DEVICES, --aux-devices)");
}

}  // namespace lockstep
