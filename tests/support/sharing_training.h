// SPDX-License-Identifier: Apache-2.0
// Trains a small network on CPU replicas, with or without states that replicas share.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "runtime/plan/plan.h"
#include "runtime/state/session_members.h"
#include "tests/support/step_feeds.h"

namespace lockstep::testing {

struct SharingSetting {
  bool fused = true;
  int threads = 1;
  Comm* comm = nullptr;
  int all_replicas = 0;  // of all processes
};

struct SharingTraining {
  static constexpr int64_t kBatch = 12, kClasses = 5;

  Session session;
  StepFeeds feeds;

  SharingTraining(const TrainingModel& model, bool shares, const SharingSetting& setting = {})
      : session(model, cpu_devices(model.replicas), all_kernels(),
                {.seed = 5,
                 .threads = setting.threads,
                 .compile = {.rewrites = setting.fused, .share = shares},
                 .comm = setting.comm}),
        feeds(model, kBatch, kClasses, kSmall, setting.all_replicas) {
    session.initialise();
  }
  void run(int64_t first, int64_t last) {
    for (int64_t step = first; step < last; ++step)
      session.step().run(feeds.at(step, 0.05F), session.run_options(static_cast<uint64_t>(step)));
  }
  const Plan& plan() { return plan_of(session.step(), feeds.at(0, 0.05F)); }
  bool are_one(const std::string& state) const {
    const std::vector<std::string>& names = session.model().find_state(state)->values;
    return std::ranges::all_of(names, [&](const std::string& name) {
      return states_of(session).at(name).data == states_of(session).at(names[0]).data;
    });
  }
};

}  // namespace lockstep::testing
