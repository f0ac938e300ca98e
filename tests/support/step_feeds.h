// Feeds for a training step over one batch of images, and the session to run it.
#pragma once

#include <vector>

#include "builders/optimizers/momentum_sgd.h"
#include "builders/step/data_parallel.h"
#include "operators/all.h"
#include "runtime/state/session.h"

namespace lockstep::testing {

inline const Dims kSmall{1, 6, 6};  // the image that small networks take

// A batch that depends on `step` alone, shared out over the replicas of `model` in order; where the
// model is one process's, its part of what is shared out over `all_replicas`.
class StepFeeds {
 public:
  // `model` must outlive it.
  StepFeeds(const TrainingModel& model, int64_t batch, int64_t classes, const Dims& image,
            int all_replicas = 0);
  std::span<const Tensor> at(int64_t step, float rate, float correction = 1);
  // Of the whole batch, as at() last made them.
  std::vector<float>& images() { return images_; }

 private:
  std::vector<float> images_;
  std::vector<int64_t> labels_;
  std::vector<int64_t> tokens_;  // for inputs of integers
  int64_t classes_;
  Feeds feeds_;
};

// A replicated MLP (no batch norm) over 6x6 images.
TrainingModel small_mlp(int replicas, const Optimizer& optimizer = MomentumSgd{},
                        DataParallelOptions options = {});
TrainingModel small_lenet(int replicas);
// Over 6x6 images: a convolution with ReLU, then two residual blocks, one whose sum has a batch
// norm on either side, one with the identity.
TrainingModel small_residual(DataParallelOptions options,
                             const Optimizer& optimizer = MomentumSgd{});

// Runs `steps` training steps of a global batch of `batch` from the seed; the state afterwards.
StateValues train(const TrainingModel& model, int64_t batch, int64_t steps, const Dims& image,
                  int threads = 1);

// States of replica 0 are equal, but for the order of sums. `model` says which there are.
void expect_close(const StateValues& a, const StateValues& b, const TrainingModel& model);

}  // namespace lockstep::testing
