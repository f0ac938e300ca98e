// SPDX-License-Identifier: Apache-2.0
// Steps with the loss of the whole batch as a metric, and steps of one replica with all rows.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "builders/step/whole_loss.h"
#include "graph/verify.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "tests/support/networks.h"
#include "tests/support/queued_cpu.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing::whole_losses_of_steps {

inline constexpr int64_t kClasses = 5;

inline TrainingModel built(const ModelFn& network, DataParallelOptions options, int replicas,
                           bool whole = true) {
  options.replicas = replicas;
  options.scope = "cpu";
  options.whole_loss = whole;
  return build_data_parallel_model(all_ops(), network, MomentumSgd{}, options);
}

// Each replica's value of the metric in a fetched step.
inline std::vector<float> whole_losses(const TrainingModel& model,
                                       std::span<const Tensor> fetched) {
  std::vector<float> values;
  for (const Tensor& each : Results(model, fetched).metric_of_each(kWholeLoss))
    values.push_back(*each.as<float>());
  return values;
}

struct Losses {
  float whole = 0;   // on replicas that share the batch
  float of_one = 0;  // of one replica with the whole batch and replica 0's states
  float shared = 0;  // the sum of the replicas' losses
};

// The losses of several training steps.
inline std::vector<Losses> losses_of(const ModelFn& network, DataParallelOptions options,
                                     int replicas, int64_t batch, bool queued = false) {
  const TrainingModel many = built(network, options, replicas);
  verify(many);
  options.micro_batches = 1;
  options.weighted = false;
  options.statistics = StatisticsPolicy::each;
  const TrainingModel one = built(network, options, 1, false);
  Session session(many, queued ? gpu_devices(replicas) : cpu_devices(replicas),
                  queued ? queued_kernels() : all_kernels(), {5, 1, {}});
  Session alone(one, cpu_devices(1), all_kernels(), {5, 1, {}});
  session.initialise();
  alone.initialise();
  StepFeeds feeds(many, batch, kClasses, kSmall), whole(one, batch, kClasses, kSmall);
  std::vector<Losses> all;
  for (int64_t step = 0; step < 3; ++step) {
    const StateValues states = session.save();
    StateValues of_first;
    for (const std::string& name : one.state_values()) of_first.emplace(name, states.at(name));
    alone.load(of_first);
    Losses losses;
    const auto fetched = session.step().run(feeds.at(step, 0.05F), session.run_options(step));
    const std::vector<float> each = whole_losses(many, fetched);
    for (const float value : each) EXPECT_EQ(value, each[0]) << "all replicas have the same value";
    losses.whole = each[0];
    losses.shared = Results(many, fetched).loss();
    losses.of_one =
        Results(one, alone.step().run(whole.at(step, 0.05F), alone.run_options(step))).loss();
    all.push_back(losses);
  }
  return all;
}

}  // namespace lockstep::testing::whole_losses_of_steps
