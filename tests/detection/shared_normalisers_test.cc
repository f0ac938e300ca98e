// SPDX-License-Identifier: Apache-2.0
// TRAIN.SHARED_NORMALISERS: the loss is the loss of the whole batch for any division among
// replicas.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/detection/scene_training.h"

namespace lockstep::testing {
namespace {

struct Trained {
  std::vector<float> losses;
  StateValues states;  // replica 0's, by name
};

Trained trained(const std::string& network, int replicas, int steps, bool shared) {
  SceneTraining training({"small", network, {}, network == kSmallFast}, replicas,
                         {"TRAIN.SHARED_NORMALISERS", shared ? "true" : "false"});
  Trained result;
  for (int step = 0; step < steps; ++step) result.losses.push_back(training.step(step));
  result.states = training.states();
  return result;
}

TEST(SharedNormalisers, OneReplicaWithFourPicturesTrainsAsTwoWithTwo) {
  for (const std::string& network : {kSmallRetinaNet, kSmallFast}) {
    SCOPED_TRACE(network);
    const Trained one = trained(network, 1, 10, true), two = trained(network, 2, 10, true);
    for (std::size_t step = 0; step < one.losses.size(); ++step)
      EXPECT_NEAR(one.losses[step], two.losses[step], 1e-5 * std::abs(one.losses[step])) << step;
    EXPECT_LT(difference(one.states, two.states), 1e-5);
    // The replicas in these steps have different numbers of objects.
    EXPECT_GT(difference(one.states, trained(network, 2, 10, false).states), 5e-5);
  }
}

// After a step, proposals differ by rounding, and the samples differ as a result.
TEST(SharedNormalisers, FasterRcnnAgreesInItsFirstStep) {
  const Trained one = trained(kSmallFaster, 1, 1, true), two = trained(kSmallFaster, 2, 1, true);
  EXPECT_NEAR(one.losses[0], two.losses[0], 1e-5 * one.losses[0]);
  EXPECT_LT(difference(one.states, two.states), 1e-5);
}

// With one replica the key changes only the rounding.
TEST(SharedNormalisers, OfOneReplicaAreItsOwn) {
  const Trained shared = trained(kSmallRetinaNet, 1, 3, true);
  const Trained own = trained(kSmallRetinaNet, 1, 3, false);
  EXPECT_LT(difference(shared.states, own.states), 1e-6);
}

}  // namespace
}  // namespace lockstep::testing
