// Heads that turn scores into losses and metrics in training, and into predictions otherwise.
#pragma once

#include "builders/net/net.h"

namespace lockstep {

// scores [N, classes]. Training: input `label` (int64 [N]), loss `loss`, metric `accuracy`.
// Prediction: output `prob`.
void classify(Net& net, Value scores, const Site& site = {});

}  // namespace lockstep
