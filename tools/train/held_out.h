// The held-out pictures, and what a network in training says of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/loader.h"
#include "graph/passes/predict.h"
#include "runtime/state/session.h"
#include "tools/train/config.h"
#include "tools/train/test_result.h"

namespace lockstep {

class HeldOut {
 public:
  // All replicas of all processes share the pictures; all call everything alike. `session` must
  // outlive this.
  HeldOut(const TrainConfig& config, Session& session);

  const Dataset& data() const { return *data_; }
  // By the parameters as they are and replica 0's running statistics. Over several processes the
  // result is rank 0's.
  TestResult test();

 private:
  struct Tally;
  void test_own_share(Tally& tally);
  void look_at(int64_t index, const float* scores, int64_t label, const float* image,
               Tally& tally) const;
  void add_up(Tally& tally) const;

  Session& session_;
  int64_t classes_;
  std::unique_ptr<Dataset> data_;
  int64_t batch_;  // of each replica
  std::unique_ptr<Loader> loader_;
  Predictors predictors_;
  std::unique_ptr<Program> program_;
};

}  // namespace lockstep
