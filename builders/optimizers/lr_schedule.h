// SPDX-License-Identifier: Apache-2.0
// The learning rate as a pure function of the iteration, with Detectron's policies and warm-up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct LrSchedule {
  std::string policy = "step";  // step, steps_with_decay, steps_with_lrs, cosine_decay, exp_decay
  double base_lr = 0.001;
  double gamma = 0.1;
  int64_t step_size = 30000;        // step
  std::vector<int64_t> steps = {};  // steps_with_*: first iterations of the intervals, from 0
  std::vector<double> lrs = {};     // steps_with_lrs: one rate per interval
  int64_t max_iter = 40000;
  int64_t warm_up_iters = 0;
  double warm_up_factor = 1.0 / 3;
  std::string warm_up_method = "linear";  // linear, constant
  // Scales the momentum along with the rate if that changes by more than this factor between
  // iterations; false: never.
  bool scale_momentum = true;
  double scale_momentum_threshold = 1.1;
};

std::vector<std::string> lr_policies();

// Throws naming the invalid field.
void validate(const LrSchedule& schedule);

float learning_rate(const LrSchedule& schedule, int64_t iteration);

// Detectron's ratio: the larger of this iteration's and the last one's rate over the smaller, which
// counts as at least 1e-10. 1 at iteration 0.
double rate_change(const LrSchedule& schedule, int64_t iteration);

// The momentum's factor before this iteration: new rate / old rate after a jump, else 1. Momentum
// includes the rate it was accumulated at; Detectron corrects it this way.
float momentum_correction(const LrSchedule& schedule, int64_t iteration);

}  // namespace lockstep
