// SPDX-License-Identifier: Apache-2.0
// A network with Winograd convolutions, trained in all ways that may change its bits and in one way
// that does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lockstep/layers.h"
#include "lockstep/losses.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session_options.h"
#include "operators/conv/winograd/loops.h"
#include "runtime/plan/compile.h"
#include "runtime/state/session_members.h"
#include "tests/support/step_feeds.h"
#include "tests/support/threads.h"

namespace lockstep::testing {
namespace {

const Dims kOddImage{64, 16, 15};

// All convolutions are Winograd's, because the bits of oneDNN's convolutions depend on threads.
void wide_network(Net& net) {
  const Value x = net.input("data", {DType::float32, {"N", 64, 16, 15}});
  Value y = conv_layer(net, x, 64, {.kernel = 3, .pad = 1, .bias = false}, "normalised");
  y = relu(net.graph, batch_norm_layer(net, y, {}, "normalised_bn"), "normalised_relu");
  y = relu(net.graph, conv_layer(net, y, 64, {.kernel = 3, .pad = 1}, "biased"), "biased_relu");
  classify(net, fc_layer(net, global_average_pool(net.graph, y, "pool"), 5, {}, "pred"));
}

struct Way {
  int replicas = 2;
  int threads = 1;
  bool fused = true;
  bool exact = false;
};

struct Trained {
  StateValues state;
  std::string plan;
};

Trained trained(const Way& way) {
  const TrainingModel model = build_data_parallel_model(all_ops(), wide_network, MomentumSgd{},
                                                        {.replicas = way.replicas, .scope = "cpu"});
  SessionOptions options{.seed = 5, .threads = usable_threads(way.threads)};
  options.compile.rewrites = way.fused;
  options.compile.exact = way.exact;
  Session session(model, cpu_devices(way.replicas), all_kernels(), options);
  session.initialise();
  StepFeeds feeds(model, 16, 5, kOddImage);
  for (int64_t step = 0; step < 3; ++step)
    session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
  return {session.save(), text_of(plan_of(session.step(), feeds.at(0, 0.05F)))};
}

int winograds_in(const std::string& plan) {
  int found = 0;
  for (std::size_t at = 0; (at = plan.find("Winograd", at)) != std::string::npos; ++at) ++found;
  return found;
}

double furthest(const StateValues& a, const StateValues& b) {
  double most = 0;
  for (const auto& [name, value] : a) {
    const auto x = value.values<float>(), y = b.at(name).values<float>();
    double size = 0, difference = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      size = std::max(size, std::abs(double{x[i]}));
      difference = std::max(difference, std::abs(double{x[i]} - y[i]));
    }
    if (size > 0) most = std::max(most, difference / size);
  }
  return most;
}

class WinogradTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!winograd::loops_here()) GTEST_SKIP() << "skipped: this processor has no AVX2";
  }
};

TEST_F(WinogradTraining, GivesTheSameBitsOnThreadsFusedOrNot) {
  for (const int replicas : {1, 2}) {
    const Trained first = trained({.replicas = replicas});
    // Two convolutions and their gradients, without the first gradient of the data, on each
    // replica.
    EXPECT_EQ(winograds_in(first.plan), 5 * replicas) << first.plan;
    for (const Way& other : {Way{replicas, 3}, Way{replicas, 2, false}, Way{replicas, 1}})
      EXPECT_TRUE(first.state == trained(other).state)
          << replicas << " replicas, " << other.threads << " threads"
          << (other.fused ? "" : ", not fused");
  }
}

TEST_F(WinogradTraining, IsCloseToExactTraining) {
  const Trained exact = trained({.exact = true});
  EXPECT_EQ(winograds_in(exact.plan), 0);
  EXPECT_LT(furthest(exact.state, trained({}).state), 1e-4);
}

}  // namespace
}  // namespace lockstep::testing
