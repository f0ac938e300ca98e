// SPDX-License-Identifier: Apache-2.0
// Feeds for a training step over one batch of images, and the session that runs the step.
#pragma once

#include <vector>

#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session.h"

namespace lockstep::testing {

inline const Dims kSmall{1, 6, 6};  // the input of small networks

// A batch that depends on `step` alone, divided among the replicas of `model` in order. A process's
// model gets its part of the shares of `all_replicas`.
class StepFeeds {
 public:
  // `model` must outlive it.
  StepFeeds(const TrainingModel& model, int64_t batch, int64_t classes, const Dims& image,
            int all_replicas = 0);
  std::span<const Tensor> at(int64_t step, float rate, float correction = 1);
  // The whole batch of the last call of at().
  std::vector<float>& images() { return images_; }
  const std::vector<int64_t>& labels() const { return labels_; }

 private:
  std::vector<float> images_;
  std::vector<int64_t> labels_;
  std::vector<int64_t> tokens_;  // for integer inputs
  int64_t classes_;
  Feeds feeds_;
};

// Returns a replicated MLP (no batch norm) over 6x6 images.
TrainingModel small_mlp(int replicas, const Optimizer& optimizer = MomentumSgd{},
                        DataParallelOptions options = {});
TrainingModel small_lenet(int replicas);
// Over 6x6 images: a convolution with ReLU, then two residual blocks. One block has a batch norm on
// either side of its sum; the other has the identity.
TrainingModel small_residual(DataParallelOptions options,
                             const Optimizer& optimizer = MomentumSgd{});
// Convolutions, a batch norm, and a mean over all positions. The parameters are the same for images
// of any side.
TrainingModel small_of_side(int64_t side, DataParallelOptions options, int64_t channels = 8);

// Runs `steps` training steps of a global batch of `batch` from the seed. Returns the final state.
StateValues train(const TrainingModel& model, int64_t batch, int64_t steps, const Dims& image,
                  int threads = 1);

// Expects equal states of replica 0, apart from the order of sums. `model` lists the states.
void expect_close(const StateValues& a, const StateValues& b, const TrainingModel& model);

}  // namespace lockstep::testing
