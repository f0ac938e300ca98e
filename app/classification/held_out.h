// SPDX-License-Identifier: Apache-2.0
// The held-out images, and tests of the network on them during training.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/classification/config.h"
#include "app/record/test_result.h"
#include "data/labelled_images.h"
#include "graph/passes/predict.h"
#include "lockstep/loader.h"
#include "lockstep/session.h"

namespace lockstep {

class HeldOut {
 public:
  // All replicas of all processes divide the images; every process must make the same calls.
  // `session` must outlive this object.
  HeldOut(const ClassificationConfig& config, Session& session);

  const Dataset& data() const { return *data_; }
  // Tests with the current parameters and replica 0's running statistics. With several processes
  // the result is rank 0's.
  TestResult test();

 private:
  class Samples;
  struct Tally;
  void test_own_share(Tally& tally);
  void look_at(int64_t index, const float* scores, int64_t label, const Tensor& images, int64_t row,
               Tally& tally) const;
  void add_up(Tally& tally) const;
  std::vector<std::string> left_out() const;

  Session& session_;
  int64_t classes_;
  bool leaves_out_;
  std::unique_ptr<Dataset> data_;
  int64_t batch_;  // per replica
  std::unique_ptr<LabelledImages> batches_;
  std::unique_ptr<Loader> loader_;
  Predictors predictors_;
  std::unique_ptr<Program> program_;
};

}  // namespace lockstep
