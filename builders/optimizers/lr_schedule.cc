// SPDX-License-Identifier: Apache-2.0
#include "builders/optimizers/lr_policy.h"

#include <algorithm>
#include <cmath>

#include "graph/nearest.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

int64_t interval(const LrSchedule& schedule, int64_t iteration) {
  auto next = std::upper_bound(schedule.steps.begin(), schedule.steps.end(), iteration);
  return next - schedule.steps.begin() - 1;
}

// From `from` to `to` as `share` goes from 0 to 1.
double annealed(const OneCycle& cycle, double from, double to, double share) {
  if (cycle.linear) return from + (to - from) * share;
  return to + (from - to) / 2 * (1 + std::cos(M_PI * share));
}

double by_one_cycle(const LrSchedule& schedule, int64_t iteration) {
  const OneCycle& cycle = schedule.one_cycle;
  const double all = static_cast<double>(schedule.max_iter), at = static_cast<double>(iteration);
  const double first = schedule.base_lr / cycle.divisor, last = first / cycle.last_divisor;
  const double top = cycle.start * all - 1;  // the iteration with the highest rate
  struct Phase {
    double end, from, to;
  };
  std::vector<Phase> phases{{top, first, schedule.base_lr}};
  if (cycle.three_phases) phases.push_back({2 * top, schedule.base_lr, first});
  phases.push_back({all - 1, cycle.three_phases ? first : schedule.base_lr, last});
  double begin = 0;
  for (const Phase& phase : phases) {
    if (at <= phase.end) {
      const double length = phase.end - begin;
      return annealed(cycle, phase.from, phase.to, length > 0 ? (at - begin) / length : 1);
    }
    begin = phase.end;
  }
  return last;
}

double by_plateau(const LrSchedule& schedule, int64_t iteration) {
  double rate = schedule.base_lr;
  for (int64_t drop : schedule.drops)
    if (drop <= iteration)
      rate = std::max(rate * schedule.plateau.factor, schedule.plateau.least_lr);
  return rate;
}

double share_of_run(const LrSchedule& schedule, int64_t iteration) {
  return static_cast<double>(iteration) / static_cast<double>(schedule.max_iter);
}

double by_size_of_steps(const LrSchedule& schedule, int64_t iteration) {
  const int64_t steps = iteration / schedule.step_size;
  return schedule.base_lr * std::pow(schedule.gamma, static_cast<double>(steps));
}

double by_decay_at_steps(const LrSchedule& schedule, int64_t iteration) {
  return schedule.base_lr *
         std::pow(schedule.gamma, static_cast<double>(interval(schedule, iteration)));
}

double by_list(const LrSchedule& schedule, int64_t iteration) {
  return schedule.lrs[interval(schedule, iteration)];
}

double by_cosine(const LrSchedule& schedule, int64_t iteration) {
  return schedule.base_lr * 0.5 * (std::cos(M_PI * share_of_run(schedule, iteration)) + 1);
}

double by_exponential(const LrSchedule& schedule, int64_t iteration) {
  return schedule.base_lr * std::exp(share_of_run(schedule, iteration) * std::log(schedule.gamma));
}

double by_polynomial(const LrSchedule& schedule, int64_t iteration) {
  return schedule.base_lr *
         std::pow(std::max(1 - share_of_run(schedule, iteration), 0.0), schedule.power);
}

const LrPolicy& policy_of(const LrSchedule& schedule) {
  const LrPolicy* const policy = find_lr_policy(schedule.policy);
  check(policy != nullptr, "internal: LR_POLICY '", schedule.policy, "' was not checked");
  return *policy;
}

double by_policy(const LrSchedule& schedule, int64_t iteration) {
  return policy_of(schedule).rate(schedule, iteration);
}

double warm_up(const LrSchedule& schedule, int64_t iteration) {
  if (iteration >= schedule.warm_up_iters) return 1;
  if (schedule.warm_up_method == "constant") return schedule.warm_up_factor;
  const double alpha = static_cast<double>(iteration) / static_cast<double>(schedule.warm_up_iters);
  return schedule.warm_up_factor * (1 - alpha) + alpha;
}

// Iterations where a rate is usually largest: the ends of warm-up, of intervals and of training.
std::vector<int64_t> turning_points(const LrSchedule& schedule) {
  std::vector<int64_t> points{0, schedule.warm_up_iters, schedule.max_iter};
  if (policy_of(schedule).has_steps)
    points.insert(points.end(), schedule.steps.begin(), schedule.steps.end());
  const std::size_t count = points.size();
  for (std::size_t i = 0; i < count; ++i) points.push_back(points[i] - 1);
  std::erase_if(points, [&](int64_t at) { return at < 0 || at >= schedule.max_iter; });
  return points;
}

void check_finite(const LrSchedule& schedule) {
  for (int64_t at : turning_points(schedule)) {
    if (std::isfinite(learning_rate(schedule, at))) continue;
    if (!std::isfinite(static_cast<float>(schedule.base_lr)))
      fail(Key{"BASE_LR"}, " is ", schedule.base_lr, ", more than a float holds");
    if (std::isfinite(static_cast<float>(by_policy(schedule, at))))
      fail(Key{"WARM_UP_FACTOR"}, " is ", schedule.warm_up_factor, ": the rate of iteration ", at,
           " is more than a float holds");
    fail(Key{policy_of(schedule).key}, ": the rate of iteration ", at,
         " is more than a float holds");
  }
}

void check_divisor(const char* key, double number) {
  check(number > 0, Key{key}, " is ", number, ", should be positive");
}

void check_step_size(const LrSchedule& schedule) {
  check(schedule.step_size > 0, Key{"STEP_SIZE"}, " is ", schedule.step_size,
        ", should be positive");
}

void check_steps(const LrSchedule& schedule) {
  check(!schedule.steps.empty() && schedule.steps[0] == 0, Key{"STEPS"}, " ", schedule.steps,
        " must begin with 0 for ", schedule.policy);
  check(std::is_sorted(schedule.steps.begin(), schedule.steps.end()), Key{"STEPS"}, " ",
        schedule.steps, " must ascend");
}

void check_list(const LrSchedule& schedule) {
  check_steps(schedule);
  check(schedule.lrs.size() == schedule.steps.size(), Key{"LRS"}, " has ", schedule.lrs.size(),
        " entries for ", schedule.steps.size(), " STEPS");
}

void check_exponential(const LrSchedule& schedule) {
  check(schedule.gamma > 0, Key{"GAMMA"}, " is ", schedule.gamma,
        ", should be positive for exp_decay");
}

void check_one_cycle(const LrSchedule& schedule) {
  const OneCycle& cycle = schedule.one_cycle;
  check(cycle.start > 0 && cycle.start < 1, Key{"ONE_CYCLE_START"}, " is ", cycle.start,
        ", should be above 0 and below 1");
  check(!cycle.three_phases || cycle.start <= 0.5, Key{"ONE_CYCLE_START"}, " is ", cycle.start,
        ", but ", Key{"ONE_CYCLE_THREE_PHASES"},
        " is true: the rate rises and falls in equal times, so the rise takes at most 0.5");
  check_divisor("ONE_CYCLE_DIVISOR", cycle.divisor);
  check_divisor("ONE_CYCLE_LAST_DIVISOR", cycle.last_divisor);
}

void check_plateau(const LrSchedule& schedule) {
  const PlateauRule& plateau = schedule.plateau;
  check(plateau.factor > 0 && plateau.factor < 1, Key{"PLATEAU_FACTOR"}, " is ", plateau.factor,
        ", should be above 0 and below 1");
  check(plateau.patience >= 0, Key{"PLATEAU_PATIENCE"}, " is ", plateau.patience,
        ", should be at least 0");
}

}  // namespace

const std::vector<LrPolicy>& lr_policy_table() {
  static const std::vector<LrPolicy> rows{
      {.name = "step", .rate = by_size_of_steps, .check = check_step_size},
      {.name = "steps_with_decay",
       .rate = by_decay_at_steps,
       .check = check_steps,
       .has_steps = true},
      {.name = "steps_with_lrs",
       .rate = by_list,
       .check = check_list,
       .has_steps = true,
       .key = "LRS"},
      {.name = "cosine_decay", .rate = by_cosine, .needs_end = true},
      {.name = "exp_decay", .rate = by_exponential, .check = check_exponential, .needs_end = true},
      {.name = "polynomial_decay", .rate = by_polynomial, .needs_end = true},
      {.name = "one_cycle", .rate = by_one_cycle, .check = check_one_cycle, .needs_end = true},
      {.name = "plateau", .rate = by_plateau, .check = check_plateau, .follows_tests = true}};
  return rows;
}

const LrPolicy* find_lr_policy(const std::string& name) {
  for (const LrPolicy& row : lr_policy_table())
    if (name == row.name) return &row;
  return nullptr;
}

std::vector<std::string> lr_policies() {
  std::vector<std::string> names;
  for (const LrPolicy& row : lr_policy_table()) names.emplace_back(row.name);
  return names;
}

void validate(const LrSchedule& schedule) {
  const LrPolicy* const policy = find_lr_policy(schedule.policy);
  if (!policy) {
    const std::string near = nearest(schedule.policy, lr_policies());
    std::string known;
    for (const std::string& name : lr_policies()) known += " " + name;
    fail(Key{"LR_POLICY"}, " '", schedule.policy, "' is not known",
         near.empty() ? "." : "; did you mean '" + near + "'?", " Known:", known);
  }
  check(schedule.max_iter > 0, Key{"MAX_ITER"}, " is ", schedule.max_iter, ", should be positive");
  check(schedule.warm_up_method == "linear" || schedule.warm_up_method == "constant",
        Key{"WARM_UP_METHOD"}, " is '", schedule.warm_up_method, "', should be linear or constant");
  if (policy->check) policy->check(schedule);
  check_finite(schedule);
}

float learning_rate(const LrSchedule& schedule, int64_t iteration) {
  return static_cast<float>(by_policy(schedule, iteration) * warm_up(schedule, iteration));
}

double rate_change(const LrSchedule& schedule, int64_t iteration) {
  constexpr float kTiny = 1e-10F;
  if (iteration == 0) return 1;
  const float before = learning_rate(schedule, iteration - 1);
  const float now = learning_rate(schedule, iteration);
  return std::max(now / std::max(before, kTiny), before / std::max(now, kTiny));
}

float momentum_correction(const LrSchedule& schedule, int64_t iteration) {
  constexpr float kLeastRate = 1e-7F;  // no correction below this rate
  if (!schedule.scale_momentum || iteration == 0) return 1;
  const float before = learning_rate(schedule, iteration - 1);
  const float now = learning_rate(schedule, iteration);
  if (before <= kLeastRate) return 1;
  return rate_change(schedule, iteration) > schedule.scale_momentum_threshold ? now / before : 1;
}

}  // namespace lockstep
