// Heads that turn scores into what a task needs: losses and metrics in training, predictions else.
#pragma once

#include "builders/net/net.h"

namespace lockstep {

// scores [N, classes]. Training: input `label` (int64 [N]), loss `loss`, metric `accuracy`.
// Prediction: output `prob`.
void classify(Net& net, Value scores, const Site& site = {});

}  // namespace lockstep
