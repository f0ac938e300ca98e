// SPDX-License-Identifier: Apache-2.0
// The keys for control, besides the keys of the step.
#include "app/control/control_config.h"
#include "graph/listed.h"

namespace lockstep {
namespace {

constexpr double kMostOfControl = 1 << 24;

ConfigKeys keys_of_network(ControlConfig& c) {
  return {{"MODEL.TYPE",
           &c.model,
           "actor_critic: a policy and a value",
           {.remembered = true, .words = {"actor_critic"}}},
          {"MODEL.HIDDEN",
           &c.hidden,
           "width of each hidden layer, of policy and of value",
           {.least = 1, .most = kMostOfControl, .remembered = true}},
          {"MODEL.WEIGHTS",
           &c.weights,
           "safetensors file to start from; tensors are matched by name",
           {.detectron = "TRAIN.WEIGHTS"}}};
}

ConfigKeys keys_of_playing(ControlConfig& c) {
  return {{"CONTROL.ENVIRONMENT",
           &c.environment,
           "the environment: " + listed(environment_names()),
           {.remembered = true, .words = environment_names()}},
          {"CONTROL.ENVIRONMENTS",
           &c.environments,
           "number of environments that are stepped together, over all replicas and processes",
           {.least = 1, .most = kMostOfControl, .remembered = true}},
          {"CONTROL.STEPS",
           &c.steps,
           "steps of each environment in an iteration",
           {.least = 1, .most = kMostOfControl, .remembered = true}},
          {"CONTROL.EPOCHS",
           &c.epochs,
           "sweeps of an iteration over the batch that it has collected",
           {.least = 1, .most = kMostOfControl, .decides_bits = true}},
          {"CONTROL.DISCOUNT",
           &c.advantages.discount,
           "factor of a reward for each step until it is received",
           {.least = 0, .most = 1, .decides_bits = true}},
          {"CONTROL.LAMBDA",
           &c.advantages.lambda,
           "generalised advantages: 0 looks one step ahead, 1 to the end of the episode",
           {.least = 0, .most = 1, .decides_bits = true}},
          {"CONTROL.CLIP",
           &c.loss.clip,
           "largest relative change of an action's probability in an iteration",
           {.least = 0, .most = 1, .decides_bits = true}},
          {"CONTROL.VALUE_WEIGHT",
           &c.loss.value_weight,
           "weight of the value's squared error in the loss",
           {.least = 0, .decides_bits = true}},
          {"CONTROL.ENTROPY_WEIGHT",
           &c.loss.entropy_weight,
           "weight of the policy's entropy, which the loss rewards",
           {.least = 0, .decides_bits = true}}};
}

ConfigKeys keys_of_training(ControlConfig& c) {
  return {{"TRAIN.BATCH_SIZE",
           &c.batch_size,
           "rows of a minibatch, over all replicas and processes",
           {.least = 1, .most = kMostOfControl, .remembered = true}},
          {"TRAIN.SNAPSHOT_ITERS",
           &c.snapshot_iters,
           "iterations between two checkpoints",
           {.least = 1}}};
}

ConfigKeys keys_of_tests(ControlConfig& c) {
  return {{"TEST.EPISODES",
           &c.test_episodes,
           "number of fresh episodes of a test",
           {.least = 1, .most = kMostOfControl}},
          {"TEST.STOP_AT",
           &c.stop_at,
           "mean return of a test that ends the run; 0: never",
           {.least = 0}}};
}

}  // namespace

ConfigKeys keys_of(ControlConfig& c) {
  return joined({run_keys(c, "the initial weights, of episodes, actions and the order of rows"),
                 keys_of(c.run), keys_of_network(c), keys_of_playing(c), keys_of_training(c),
                 loop_keys(c), keys_of_tests(c), solver_keys(c), keys_of(c.step)});
}

}  // namespace lockstep
