// SPDX-License-Identifier: Apache-2.0
// The YAML configuration of `lockstep train` for control: a network that learns which actions to
// take in an environment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/config/files.h"
#include "app/config/key.h"
#include "app/train/settings.h"
#include "lockstep/episodes.h"
#include "lockstep/losses.h"

namespace lockstep {

// The MODEL.TYPE of this task.
inline constexpr const char* kActorCritic = "actor_critic";

// control_keys.cc lists the keys and their meanings.
struct ControlConfig : TrainSettings {
  ControlConfig();  // with the defaults of this task

  std::string model = kActorCritic;
  std::vector<int64_t> hidden = {64, 64};
  std::string weights;

  std::string environment = "cart_pole";
  int64_t environments = 32;  // of all replicas
  int64_t steps = 64;         // of each environment in an iteration
  int64_t epochs = 10;        // over the rows of an iteration
  int64_t batch_size = 256;   // rows of a minibatch of all replicas
  AdvantageOptions advantages = {};
  PolicyLoss loss = {};

  int64_t test_episodes = 100;
  double stop_at = 0;

  const EnvironmentKind& kind() const { return environment_named(environment); }
  int64_t rows() const { return environments * steps; }  // of an iteration
};
// The keys, in the order of a listing.
ConfigKeys keys_of(ControlConfig& config);

// Throws as read_config() does, also if the configuration does not fit the number of processes.
ControlConfig read_control_config(const ConfigFiles& files, const std::vector<std::string>& words,
                                  int processes, Origins& origins);

}  // namespace lockstep
