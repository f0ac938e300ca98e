// SPDX-License-Identifier: Apache-2.0
// A frozen part leaves no trace in the backward pass.
#include <gtest/gtest.h>

#include <set>

#include "app/detection/network.h"
#include "tests/detection/small_detector.h"

namespace lockstep::testing {
namespace {

// The name without a replica's scope.
std::string plain_name(const std::string& name) { return name.substr(name.find('/') + 1); }

bool is_below_stage(const std::string& name, int64_t stage) {
  if (name.starts_with("conv1") || name.starts_with("res_conv1") || name.starts_with("pool1"))
    return true;
  for (int64_t frozen = 2; frozen <= stage; ++frozen)
    if (name.starts_with(join("res", frozen, "_"))) return true;
  return false;
}

// True for a gradient or a new value of a parameter, also of a value split over nodes.
bool is_of_backward(const std::string& name) {
  return name.find("_grad") != std::string::npos || name.ends_with("_new");
}

TEST(FrozenPart, HasNoGradientsNoMomentumAndNoUpdates) {
  for (const int64_t stage : {2, 3, 4}) {
    SCOPED_TRACE(join("TRAIN.FREEZE_AT ", stage));
    const DetectorConfig config =
        small_detector_config(kSmallFaster, {"TRAIN.FREEZE_AT", std::to_string(stage)});
    const TrainingModel model = detector_step(config, {64, 64});
    int frozen = 0, trained = 0;
    for (int id = 0; id < model.step.value_count(); ++id) {
      const std::string name = plain_name(model.step.name({id}));
      if (!is_of_backward(name)) continue;
      EXPECT_FALSE(is_below_stage(name, stage)) << name;
      ++trained;
    }
    EXPECT_GE(trained, 50);
    for (const State& state : model.states) {
      if (!is_below_stage(state.name, stage)) continue;
      EXPECT_FALSE(state.name.ends_with("_momentum")) << state.name;
      ++frozen;
    }
    EXPECT_GE(frozen, 5);
    // Nodes of the backward pass read only results of frozen stages, which the pyramid reads, too.
    for (int index = 0; index < model.step.node_count(); ++index) {
      const Node node = model.step.node(index);
      if (!node.outputs()[0]) continue;
      if (!is_of_backward(plain_name(model.step.name(node.outputs()[0])))) continue;
      for (const Value input : node.inputs()) {
        if (!input) continue;
        const std::string name = plain_name(model.step.name(input));
        EXPECT_TRUE(!is_below_stage(name, stage) || name.find("_sum") != std::string::npos)
            << node.description() << " reads " << name;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::testing
