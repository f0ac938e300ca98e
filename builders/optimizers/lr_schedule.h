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
  // A rate that changes by more than this factor from one iteration to the next scales the momentum
  // alike; false: never.
  bool scale_momentum = true;
  double scale_momentum_threshold = 1.1;
};

// Throws naming the field that does not fit.
void validate(const LrSchedule& schedule);

float learning_rate(const LrSchedule& schedule, int64_t iteration);

// How many times the larger of this iteration's rate and the last one's is the smaller, which
// counts as 1e-10 at least: Detectron's ratio. 1 at iteration 0.
double rate_change(const LrSchedule& schedule, int64_t iteration);

// What the momentum is multiplied by before this iteration: new rate / old rate where that is a
// jump, else 1. Momentum holds the rate it was gathered at; Detectron corrects it so.
float momentum_correction(const LrSchedule& schedule, int64_t iteration);

}  // namespace lockstep
