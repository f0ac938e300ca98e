// SPDX-License-Identifier: Apache-2.0
// Heads that turn scores into losses and metrics in training, and into predictions otherwise.
#pragma once

#include "builders/net/net.h"

namespace lockstep {

// scores [N, classes]. Training: input `label` (int64 [N]), loss `loss`, metric `accuracy`.
// Prediction: output `prob`.
void classify(Net& net, Value scores, const Site& site = {});

// Labels of places, of which some don't count, such as the padding of a sequence: scores [places,
// classes], labels int64 [places], -1: does not count. Loss `loss`, the mean over those that do
// in the whole batch, however replicas and micro-batches share it. In training only.
void predict_places(Net& net, Value scores, Value labels, const Site& site = {});

}  // namespace lockstep
