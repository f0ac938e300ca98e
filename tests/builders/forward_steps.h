// SPDX-License-Identifier: Apache-2.0
// The forward pass of a small network, and the values that a step reports.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "lockstep/checkpoint.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "tests/support/networks.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing::forward_steps {

inline constexpr int64_t kClasses = 5;

inline TrainingModel built(const ModelFn& network, DataParallelOptions options, int replicas,
                           bool forward_only) {
  options.replicas = replicas;
  options.scope = "cpu";
  options.forward_only = forward_only;
  return build_data_parallel_model(all_ops(), network, MomentumSgd{}, options);
}

// Losses, then metrics, by replica of the whole run, for `steps` steps of one batch each.
using Reported = std::map<std::string, std::vector<float>>;

inline void note(const TrainingModel& model, std::span<const Tensor> fetched, int replicas,
                 Reported& into) {
  std::size_t next = 0;
  for (const auto* items : {&model.losses, &model.metrics})
    for (const Replicated& item : *items) {
      std::vector<float>& values = into[item.name];
      values.resize(static_cast<std::size_t>(replicas));
      for (int k = 0; k < model.replicas; ++k)
        values[static_cast<std::size_t>(model.first_replica + k)] = *fetched[next++].as<float>();
    }
}

inline Reported reported(const TrainingModel& model, int64_t batch, int64_t step,
                         const std::string& checkpoint = "") {
  Session session(model, cpu_devices(model.replicas), all_kernels(), {5, 1, {}});
  checkpoint.empty() ? session.initialise() : void(load_checkpoint(session, checkpoint));
  StepFeeds feeds(model, batch, kClasses, kSmall);
  const StateValues before = session.save();
  Reported found;
  note(model, session.step().run(feeds.at(step, 0), session.run_options(step)), model.replicas,
       found);
  if (model.updates.empty()) {
    EXPECT_TRUE(session.save() == before);
  }
  return found;
}

inline bool same_bits(const Reported& a, const Reported& b) {
  const auto same = [](const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  };
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const auto& entry) {
           return b.contains(entry.first) && same(entry.second, b.at(entry.first));
         });
}

}  // namespace lockstep::testing::forward_steps
