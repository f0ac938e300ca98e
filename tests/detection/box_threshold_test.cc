// SPDX-License-Identifier: Apache-2.0
// TRAIN.BBOX_THRESH: the RoIs whose boxes are learnt. The sampled RoIs and their classes stay.
#include <gtest/gtest.h>

#include "tests/detection/scene_training.h"

namespace lockstep::testing {
namespace {

float first_loss(const std::string& threshold, int replicas = 1) {
  SceneTraining training({"small", kSmallFast, {}, true}, replicas,
                         {"TRAIN.BBOX_THRESH", threshold, "TRAIN.SHARED_NORMALISERS", "true"});
  return training.step(0);
}

TEST(BoxThreshold, ChoosesTheBoxesThatAreLearnt) {
  const float usual = first_loss("0.5");  // as TRAIN.FG_THRESH
  EXPECT_LT(first_loss("0.7"), usual) << "the boxes of some objects are not learnt";
  EXPECT_GT(first_loss("0.3"), usual) << "the boxes of some background RoIs are learnt, too";
  EXPECT_LT(first_loss("1"), first_loss("0.7"));
}

TEST(BoxThreshold, DoesNotDependOnReplicas) {
  for (const char* threshold : {"0.3", "0.7"}) {
    const float one = first_loss(threshold);
    EXPECT_NEAR(first_loss(threshold, 2), one, 1e-5F * one) << threshold;
  }
}

}  // namespace
}  // namespace lockstep::testing
