// SPDX-License-Identifier: Apache-2.0
// The targets and masks of losses and metrics. The data has them; the network need not take them.
#pragma once

#include <vector>

#include "app/arrays/example_set.h"
#include "app/arrays/loss_terms.h"
#include "app/arrays/metrics.h"

namespace lockstep {

// Of a training step.
std::vector<FedArray> beside_losses(const std::vector<LossTerm>& terms);
// Of a test, which has the loss, too.
std::vector<FedArray> beside_tests(const std::vector<LossTerm>& terms,
                                   const std::vector<Metric>& metrics);

}  // namespace lockstep
