// SPDX-License-Identifier: Apache-2.0
// TRAIN.RESIDENT: steps that take their minibatches from a training set on the devices.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/train/rounds.h"
#include "app/train/settings.h"
#include "lockstep/loader.h"
#include "lockstep/resident.h"
#include "lockstep/session.h"

namespace lockstep {

struct ResidentRoundsOptions {
  int64_t examples = 1;  // of the set, as ResidentSet::examples
  int threads = 1;       // that read the set; they end before the first step
  bool shuffle = true;   // false: every epoch has the order of the first
};

// Loads the first minibatches of a source. In the first epoch the steps take them in the source's
// order; so the first epoch has the bits of a run that is fed by the source. Each further epoch
// visits the same minibatches in an order that depends on the seed and the epoch's number.
class ResidentRounds final : public Rounds {
 public:
  // `settings` and `session` must outlive this object. Reads this process's rows of the source,
  // whose tensors have the names of the model's resident inputs.
  ResidentRounds(const TrainSettings& settings, Session& session, const MinibatchSource& source,
                 const ResidentRoundsOptions& options);

  // A line for people: the rows that stay on the devices.
  std::string note() const;

  std::vector<std::string> number_names() const override { return {}; }
  StepResult run(int64_t round, NotFinite* not_finite) override;
  double gathering_seconds() const override { return 0; }
  std::string not_finite_in(int64_t round) override;
  bool has_text() const override { return false; }
  std::string text() override { return ""; }
  void restore(const std::string&) override {}

 private:
  ResidentLoad load(const MinibatchSource& source);
  int64_t row_of(int64_t step);

  const TrainSettings& settings_;
  Session& session_;
  ResidentRoundsOptions options_;
  ResidentBatch resident_;
  std::map<int64_t, std::string> not_finite_;  // by minibatch, as not_finite_in()
  const ResidentLoad load_;                    // with the examples that are left out
  int64_t epoch_ = 0;                          // of order_
  std::vector<int64_t> order_;                 // the first row of each minibatch of an epoch
};

}  // namespace lockstep
