// SPDX-License-Identifier: Apache-2.0
// The head of a network that chooses actions and expects returns: its predictions, and the clipped
// policy-gradient loss (Schulman et al. 2017) of a batch of actions that were tried.
#pragma once

#include "builders/net/net.h"

namespace lockstep {

struct PolicyLoss {
  float clip = 0.2F;  // how far an action's probability may move, as a share, before the loss is
                      // blind to it
  float value_weight = 0.5F;
  float entropy_weight = 0;
};

// The inputs of a row in training, beside the observation.
struct PolicyInputs {
  const char* action;           // int64 [N]
  const char* log_probability;  // of the action, when it was drawn; this and the others float [N]
  const char* advantage;
  const char* target;  // the return that the row's value should have expected
};
inline constexpr PolicyInputs kPolicyInputs{"action", "log_probability", "advantage", "target"};

// scores [N, actions], values [N, 1]. Prediction: outputs `log_probabilities` [N, actions] and
// `values` [N]. Training: losses `policy_loss`, `value_loss` and `entropy_loss`, each with its
// weight; metrics `entropy`, `divergence` (from the policy that drew the actions) and `clipped`
// (the share of rows).
void choose_actions(Net& net, Value scores, Value values, const PolicyLoss& options,
                    const Where& where = Where::here());

}  // namespace lockstep
