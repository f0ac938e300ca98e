// SPDX-License-Identifier: Apache-2.0
// Heads that turn scores into losses and metrics in training, and into predictions otherwise.
#pragma once

#include "lockstep/net.h"

namespace lockstep {

// scores [N, classes]. Training: input `label` (int64 [N]), loss `loss`, metric `accuracy`.
// Prediction: output `prob`.
void classify(Net& net, Value scores, const Site& site = {});

// Classifies items of which some may be padding, such as the steps of uneven sequences: scores
// [items, classes], labels int64 [items]; a label of -1 marks padding. Adds the loss `loss`, the
// mean over all other items of the whole batch, however replicas and micro-batches divide the
// batch. Call it in training only.
void predict_places(Net& net, Value scores, Value labels, const Site& site = {});

// The clipped policy-gradient loss (Schulman et al. 2017) of choose_actions().
struct PolicyLoss {
  float clip = 0.2F;  // the relative change of an action's probability beyond which the loss has no
                      // gradient
  float value_weight = 0.5F;
  float entropy_weight = 0;
};

// The names of the inputs of a row in training, beside the observation.
struct PolicyInputs {
  const char* action;           // int64 [N]
  const char* log_probability;  // of the action, when it was drawn; float32 [N], as the next two
  const char* advantage;
  const char* target;  // the return that the row's value should have predicted
};
inline constexpr PolicyInputs kPolicyInputs{"action", "log_probability", "advantage", "target"};

// The head of an actor-critic network: scores [N, actions], values [N, 1]. Prediction: outputs
// `log_probabilities` [N, actions] and `values` [N]. Training: inputs kPolicyInputs; losses
// `policy_loss`, `value_loss` and `entropy_loss`, each with its weight; metrics `entropy`,
// `divergence` (from the policy that drew the actions) and `clipped` (the fraction of rows beyond
// PolicyLoss::clip).
void choose_actions(Net& net, Value scores, Value values, const PolicyLoss& options,
                    const Where& where = Where::here());

}  // namespace lockstep
