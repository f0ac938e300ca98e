// SPDX-License-Identifier: Apache-2.0
// A network that chooses actions and expects returns, of fully connected layers.
#pragma once

#include <cstdint>
#include <vector>

#include "builders/net/policy_loss.h"

namespace lockstep {

inline constexpr const char* kObservation = "observation";  // its input

struct ActorCriticOptions {
  int64_t observations = 4;  // values of one
  int64_t actions = 2;
  std::vector<int64_t> hidden = {64, 64};  // width of each layer, of policy and of value alike
  PolicyLoss loss = {};
};

// Policy and value have layers of their own, with tanh. Input kObservation [N, observations]; the
// others, losses and outputs: builders/net/policy_loss.h.
ModelFn actor_critic(const ActorCriticOptions& options);

}  // namespace lockstep
