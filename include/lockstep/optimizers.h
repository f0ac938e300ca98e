// SPDX-License-Identifier: Apache-2.0
// Optimisers and learning-rate schedules.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/training_model.h"

namespace lockstep {

// ---- an optimiser as a value: its feeds, its slots for each parameter, and the update that makes
// a new parameter of a gradient. The step applies the decay and rate factors of parameter classes
// (ParamRules in data_parallel.h) and sums gradients over replicas before the update. An optimiser
// may apply the decay itself (takes_decay).

// A number fed to every replica at each step.
struct OptimizerFeed {
  Role role;
  std::string name;
};

// A tensor of the parameter's size that persists across steps. The slot "momentum" of the parameter
// conv1_w is the state conv1_w_momentum.
struct OptimizerSlot {
  std::string name;
  float first = 0;  // initial value of each element
  // true: every replica has a different value, and checkpoints store all of them.
  bool differs_by_replica = false;
};

struct ParamUpdate {
  Value param;
  StateKind kind{};          // its class: weight, bias or norm
  Value gradient;            // summed, and adapted to the parameter's class
  std::vector<Value> slots;  // in the order of Optimizer::slots
  std::vector<Value> fed;    // in the order of Optimizer::feeds
  // The number of the update, from 1, if Optimizer::counts. Skipped steps do not count.
  Value number = none;
  float decay = 0;  // of the parameter's class, if Optimizer::takes_decay
  // `none`, or an int64 scalar: if not negative, the step is skipped. Parameter and slots then keep
  // their values, except that a fed number may correct a slot.
  Value unless = none;
};
struct UpdatedParam {
  Value param;
  std::vector<Value> slots;
};

struct Optimizer {
  using Update = std::function<UpdatedParam(Graph& graph, const ParamUpdate& update)>;
  // Explicit, so that `{}` is not an optimiser.
  explicit Optimizer(Update update) : update(std::move(update)) {}

  std::vector<OptimizerFeed> feeds;
  std::vector<OptimizerSlot> slots;
  bool counts = false;  // needs the number of each update, kept in one more state
  // true: the optimiser applies the decay. false: decay * parameter is already part of the
  // gradient.
  bool takes_decay = false;
  Update update;
};

// ---- optimisers. Each converts to an Optimizer; the conversion throws for a value out of range.

// v = momentum * v + rate * gradient, param -= v. The momentum includes the rate. With
// `correct_momentum`, replicas are fed a factor for the old momentum when the rate jumps
// (momentum_correction()).
struct MomentumSgd {
  float momentum = 0.9F;
  bool correct_momentum = false;

  operator Optimizer() const;  // NOLINT: converts by intent
};

// v' = momentum * v + rate * gradient, param -= (1 + momentum) * v' - momentum * v.
struct Nesterov {
  float momentum = 0.9F;
  bool correct_momentum = false;

  operator Optimizer() const;  // NOLINT
};

// As torch.optim.Adam.
struct Adam {
  float beta1 = 0.9F, beta2 = 0.999F;
  float epsilon = 1e-8F;

  operator Optimizer() const;  // NOLINT
};

// As torch.optim.AdamW. The decay is the decay of the parameter's class (ParamRules).
struct AdamW {
  float beta1 = 0.9F, beta2 = 0.999F;
  float epsilon = 1e-8F;

  operator Optimizer() const;  // NOLINT
};

// LAMB (You et al., 2019): AdamW with a step proportional to each weight's norm:
//   r = m^ / (sqrt(v^) + epsilon) + decay * w, with Adam's m^ and v^
//   w -= rate * ratio * r, where ratio = |w| / |r|, or 1 where |w| or |r| is 0
// Biases and norms have the ratio 1, as in Lars, and so are updated as by AdamW.
struct Lamb {
  float beta1 = 0.9F, beta2 = 0.999F;
  float epsilon = 1e-6F;

  operator Optimizer() const;  // NOLINT
};

// Lion (Chen et al., 2023): every element of a step has the size of the rate:
//   w -= rate * (sign(beta1 * m + (1 - beta1) * g) + decay * w), m' = beta2 * m + (1 - beta2) * g
struct Lion {
  float beta1 = 0.9F, beta2 = 0.99F;

  operator Optimizer() const;  // NOLINT
};

// As torch.optim.RMSprop. The momentum does not include the rate, so it needs no correction when
// the rate jumps.
struct RmsProp {
  float alpha = 0.99F, momentum = 0;
  float epsilon = 1e-8F;
  bool centred = false;

  operator Optimizer() const;  // NOLINT
};

// As torch.optim.Adagrad.
struct Adagrad {
  float rate_decay = 0;           // PyTorch's lr_decay
  float initial_accumulator = 0;  // first value of the sums of squares
  float epsilon = 1e-8F;

  operator Optimizer() const;  // NOLINT
};

// LARS (You, Gitman and Ginsburg, 2017): momentum SGD with a step proportional to each weight's
// norm:
//   ratio = trust * |w| / (|g| + decay * |w| + epsilon), or 1 where |w| or |g| is 0
//   v' = momentum * v + rate * ratio * (g + decay * w), w -= v'
// Biases and norms have the ratio 1: they start at 0 or have few elements, so their norms say
// little.
struct Lars {
  float momentum = 0.9F, trust = 0.001F;
  float epsilon = 1e-8F;
  bool correct_momentum = false;

  operator Optimizer() const;  // NOLINT
};

// ---- the learning rate as a pure function of the schedule and the iteration, from 0, with
// Detectron's policies, some of PyTorch's, and Detectron's warm-up

// one_cycle, as torch.optim.lr_scheduler.OneCycleLR: the rate rises from base_lr / divisor to
// base_lr, then falls to base_lr / divisor / last_divisor in the last iteration.
struct OneCycle {
  double start = 0.3;         // the share of the iterations that raise the rate
  double divisor = 25;        // of the first rate
  double last_divisor = 1e4;  // of the last rate, from the first rate
  bool linear = false;        // false: the rate changes by a cosine
  bool three_phases = false;  // true: first falls back to the first rate, as fast as it rose
};

// plateau, as torch.optim.lr_scheduler.ReduceLROnPlateau for a score: the rate falls by a factor
// if more than `patience` tests in a row have no better score.
struct PlateauRule {
  double factor = 0.1;
  int64_t patience = 10;
  double threshold = 1e-4;  // a score is better if it exceeds the best by this share
  int64_t cooldown = 0;     // tests after a drop that do not count
  double least_lr = 0;
};

struct LrSchedule {
  std::string policy = "step";  // one of lr_policies()
  double base_lr = 0.001;
  // step, steps_with_decay: the factor of a decay. exp_decay: the ratio of the last rate to
  // base_lr.
  double gamma = 0.1;
  int64_t step_size = 30000;        // step: iterations between two decays
  std::vector<int64_t> steps = {};  // steps_with_*: first iterations of the intervals, from 0
  std::vector<double> lrs = {};     // steps_with_lrs: one rate per interval
  double power = 1;                 // polynomial_decay
  OneCycle one_cycle = {};
  PlateauRule plateau = {};
  // plateau: the first iterations with a lower rate, in order. The tests of a run decide them.
  std::vector<int64_t> drops = {};
  int64_t max_iter = 40000;
  int64_t warm_up_iters = 0;              // 0: no warm-up
  double warm_up_factor = 1.0 / 3;        // linear: at iteration 0; constant: always
  std::string warm_up_method = "linear";  // linear, constant
  // Scales the momentum with the rate if the rate changes by more than the threshold between two
  // iterations.
  bool scale_momentum = true;
  double scale_momentum_threshold = 1.1;
};

std::vector<std::string> lr_policies();

// Throws an Error naming an invalid field.
void validate(const LrSchedule& schedule);

// `schedule` must be valid.
float learning_rate(const LrSchedule& schedule, int64_t iteration);

// Detectron's ratio: the larger of this iteration's and the last one's rate over the smaller, which
// counts as at least 1e-10. 1 at iteration 0.
double rate_change(const LrSchedule& schedule, int64_t iteration);

// The momentum's factor before this iteration: new rate / old rate after a jump
// (scale_momentum_threshold), else 1. The momentum includes the rate at which it was accumulated;
// Detectron corrects it this way.
float momentum_correction(const LrSchedule& schedule, int64_t iteration);

}  // namespace lockstep
