// SPDX-License-Identifier: Apache-2.0
// Running statistics that one replica after another updates, compared with numbers computed by
// hand. A step keeps 3/4 of a statistic.
#include <gtest/gtest.h>

#include "graph/verify.h"
#include "lockstep/data_parallel.h"
#include "lockstep/layers.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session.h"
#include "tests/support/expect_error.h"

namespace lockstep::testing {
namespace {

// Two batch norms, with one channel and with two. The second channel has ten times the numbers of
// the first.
void two_norms(Net& net) {
  const Value x = net.input("data", {DType::float32, {"N", 2}});
  const Value y = batch_norm_layer(net, x, {.momentum = 0.75F}, "bn1");
  const Value sum = reduce_sum(net.graph, x, {1}, true, "both");
  const Value z = batch_norm_layer(net, sum, {.momentum = 0.5F}, "bn2");
  net.training() ? net.loss("loss", reduce_mean(net.graph, add(net.graph, y, z, "sum"), {}, false))
                 : net.output("out", y);
}

class Moved {
 public:
  // Shares of two rows each, in order.
  Moved(int replicas, const std::vector<float>& rows, int steps,
        DataParallelOptions options = {.statistics = StatisticsPolicy::in_turn})
      : replicas_(replicas) {
    options.replicas = replicas;
    options.scope = "cpu";
    const TrainingModel model =
        build_data_parallel_model(all_ops(), two_norms, MomentumSgd{}, options);
    verify(model);
    Session session(model, parse_devices(join("cpu*", replicas)), all_kernels(), {});
    session.initialise();
    std::vector<float> data;
    for (float row : rows) data.insert(data.end(), {row, 10 * row});
    Feeds feeds(model);
    feeds.set(Role::rate, 0.1F);
    for (int step = 0; step < steps; ++step) {
      feeds.set("data", {{DType::float32, {static_cast<int64_t>(rows.size()), 2}}, data.data()});
      session.run_step(feeds, static_cast<uint64_t>(step));
    }
    after_ = session.save();
  }
  // Expects these values on every replica.
  void expect(const std::string& name, const std::vector<float>& expected) const {
    for (int k = 0; k < replicas_; ++k) {
      const auto values = after_.at(join("cpu_", k, "/", name)).values<float>();
      ASSERT_EQ(values.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(values[i], expected[i], 2e-6F * std::abs(expected[i]) + 1e-6F)
            << name << "[" << i << "] of replica " << k;
    }
  }

 private:
  int replicas_;
  StateValues after_;
};

// The shares have means 2, 6, -1 and variances 1, 4, 0. Statistics begin at 0 and 1.
const std::vector<float> kTwo{1, 3, 4, 8}, kThree{1, 3, 4, 8, -1, -1};

TEST(StatisticsInTurn, OfTwoReplicas) {
  const Moved once(2, kTwo, 1);
  once.expect("bn1_rm", {1.875F, 18.75F});     // 0, 0.5, 0.375 + 1.5
  once.expect("bn1_riv", {1.75F, 119.3125F});  // 1, 1, 0.75 + 1; 1, 25.75, 19.3125 + 100
  const Moved twice(2, kTwo, 2);
  twice.expect("bn1_rm", {2.9296875F, 29.296875F});  // 1.875, 1.90625, 1.4296875 + 1.5
  twice.expect("bn2_rm", {11 * 4.375F});             // 0, 1, 3.5; 3.5, 2.75, 4.375
}

TEST(StatisticsInTurn, OfThreeReplicas) {
  const Moved once(3, kThree, 1);
  once.expect("bn1_rm", {1.15625F, 11.5625F});  // 0, 0.5, 1.875, 1.40625 - 0.25
  once.expect("bn2_rm", {11 * 1.25F});          // 0, 1, 3.5, 1.75 - 0.5
  const Moved swapped(3, {-1, -1, 4, 8, 1, 3}, 1);
  swapped.expect("bn1_rm", {1.484375F, 14.84375F});  // 0, -0.25, 1.3125, 0.984375 + 0.5
}

// Each part of a share also updates the statistics.
TEST(StatisticsInTurn, OfPartsOfShares) {
  const Moved parts(2, {1, 3, 4, 8, -1, -1, 2, 2}, 1,
                    {.micro_batches = 2, .statistics = StatisticsPolicy::in_turn});
  parts.expect("bn1_rm", {1.3671875F, 13.671875F});  // .., 1.15625, 0.8671875 + 0.5
}

// A single replica has no turns.
TEST(StatisticsInTurn, OfOneReplicaAreItsOwn) {
  const Moved one(1, {1, 3}, 1);
  one.expect("bn1_rm", {0.5F, 5});
}

TEST(StatisticsInTurn, WhatCannotMoveInTurnIsNamed) {
  const auto with = [](DataParallelOptions options) {
    options.replicas = 2;
    options.statistics = StatisticsPolicy::in_turn;
    return [options] { build_data_parallel_model(all_ops(), two_norms, MomentumSgd{}, options); };
  };
  expect_error(with({.synchronised_batch_norm = true}),
               "cannot be combined with TRAIN.SYNC_BATCH_NORM");
  expect_error(with({.deferred = true, .skip_non_finite = true}),
               "TRAIN.STATISTICS in_turn cannot be combined with deferred gradients");
  expect_error(with({.deferred = true, .precision = DType::float16}), "TRAIN.STATISTICS in_turn");
  const auto counting = [](Net& net) {
    const Value x = net.input("data", {DType::float32, {"N", 2}});
    const Value w = net.param("w", {2}, constant(1));
    const Value seen = net.param("seen", {2}, constant(0), StateKind::computed);
    if (!net.training()) return net.output("out", x);
    net.next(seen, reduce_mean(net.graph, x, {0}, false, "mean"));
    net.loss("loss", reduce_mean(net.graph, mul(net.graph, x, w, "product"), {}, false));
  };
  expect_error(
      [&] {
        build_data_parallel_model(all_ops(), counting, MomentumSgd{},
                                  {.replicas = 2, .statistics = StatisticsPolicy::in_turn});
      },
      "running statistics of batch norms, but 'seen' is another state",
      "choose each, mean or first");
}

TEST(StatisticsInTurn, HasAName) {
  EXPECT_EQ(parse_statistics("in_turn"), StatisticsPolicy::in_turn);
  EXPECT_EQ(text_of(StatisticsPolicy::in_turn), "in_turn");
  expect_error([] { parse_statistics("turn"); },
               "'each', 'mean', 'first' or 'in_turn', not 'turn'");
}

}  // namespace
}  // namespace lockstep::testing
