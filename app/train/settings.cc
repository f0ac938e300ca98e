// SPDX-License-Identifier: Apache-2.0
#include "app/train/settings.h"

#include <algorithm>

#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "lockstep/session_options.h"

namespace lockstep {
namespace {

constexpr double kMostRate = 3.4e38;  // a float

}  // namespace

void check_shares(const BatchShares& shares, const TrainSettings& settings, int processes,
                  const char* examples) {
  const Phrase of_parts =
      shares.parts > 1 ? phrase(" and their ", Key{"TRAIN.MICRO_BATCHES"}) : Phrase{};
  const Phrase of_all = phrase(shares.replicas, " replicas of ",
                               processes == 1 ? "" : join(processes, " processes with "),
                               Key{"DEVICES"}, " ", settings.run.devices.text, of_parts);
  const Key batch{"TRAIN.BATCH_SIZE"};
  check(!shares.leave_nothing(), batch, " ", shares.batch, " is too small: there are no ", examples,
        " for some of the ", of_all);
  const auto needs_equal = [&](const Phrase& what) {
    check(shares.equal(), what, " needs equal shares, but ", batch, " ", shares.batch,
          " cannot be split equally over the ", of_all);
  };
  if (settings.resident) {
    const Key resident{"TRAIN.RESIDENT"};
    check(shares.parts == 1, resident, ": a step takes a whole minibatch of the ", examples,
          " on the devices, but ", Key{"TRAIN.MICRO_BATCHES"}, " is ", shares.parts,
          "; a smaller TRAIN.BATCH_SIZE needs less memory, too");
    needs_equal(phrase(resident));
  }
  const DataParallelOptions& options = settings.step.options;
  if (options.all_reduce.spec.reduction == Reduction::mean)
    needs_equal(phrase(Key{"ALL_REDUCE"}, " ", text_of(options.all_reduce.spec)));
  if (options.synchronised_batch_norm) needs_equal(phrase(Key{"TRAIN.SYNC_BATCH_NORM"}));
}

// Adds the key's section, which the builder's errors lack.
void check_rates(const LrSchedule& schedule) {
  try {
    validate(schedule);
  } catch (const Error& error) {
    ErrorSubject subject = error.subject();
    for (std::string& key : subject.keys) key = "SOLVER." + key;
    throw Error(join("SOLVER.", error), subject);
  }
}

ConfigKeys solver_keys(TrainSettings& c) {
  return {
      {"SOLVER.BASE_LR",
       &c.schedule.base_lr,
       "initial learning rate",
       {.least = 0, .most = kMostRate, .decides_bits = true}},
      {"SOLVER.LR_POLICY",
       &c.schedule.policy,
       "learning rate schedule: step, steps_with_decay, steps_with_lrs, cosine_decay, exp_decay, "
       "polynomial_decay, one_cycle or plateau",
       {.decides_bits = true, .words = lr_policies()}},
      {"SOLVER.GAMMA",
       &c.schedule.gamma,
       "factor of each drop of the learning rate; exp_decay: factor over the whole run",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.STEP_SIZE",
       &c.schedule.step_size,
       "step: iterations between two drops of the learning rate",
       {.least = 1, .decides_bits = true}},
      {"SOLVER.STEPS",
       &c.schedule.steps,
       "steps_with_*: first iteration of each interval; the first is 0",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.LRS",
       &c.schedule.lrs,
       "steps_with_lrs: learning rate of each interval",
       {.least = 0, .most = kMostRate, .decides_bits = true}},
      {"SOLVER.POWER",
       &c.schedule.power,
       "polynomial_decay: exponent of the remaining share of the iterations",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.ONE_CYCLE_START",
       &c.schedule.one_cycle.start,
       "one_cycle: share of the iterations that raise the learning rate to BASE_LR",
       {.least = 0, .most = 1, .decides_bits = true}},
      {"SOLVER.ONE_CYCLE_DIVISOR",
       &c.schedule.one_cycle.divisor,
       "one_cycle: the first learning rate is BASE_LR divided by this number",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.ONE_CYCLE_LAST_DIVISOR",
       &c.schedule.one_cycle.last_divisor,
       "one_cycle: the last learning rate is the first divided by this number",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.ONE_CYCLE_LINEAR",
       &c.schedule.one_cycle.linear,
       "one_cycle: change the learning rate along a line, not along a cosine",
       {.decides_bits = true}},
      {"SOLVER.ONE_CYCLE_THREE_PHASES",
       &c.schedule.one_cycle.three_phases,
       "one_cycle: fall back to the first learning rate as fast as it rose, then to the last",
       {.decides_bits = true}},
      {"SOLVER.PLATEAU_FACTOR",
       &c.schedule.plateau.factor,
       "plateau: factor of each drop of the learning rate",
       {.least = 0, .most = 1, .decides_bits = true}},
      {"SOLVER.PLATEAU_PATIENCE",
       &c.schedule.plateau.patience,
       "plateau: tests in a row without a better result that cause no drop; the next one does",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.PLATEAU_THRESHOLD",
       &c.schedule.plateau.threshold,
       "plateau: a result is better if it beats the best one by more than this share of it",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.PLATEAU_COOLDOWN",
       &c.schedule.plateau.cooldown,
       "plateau: tests after a drop that do not count",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.PLATEAU_LEAST_LR",
       &c.schedule.plateau.least_lr,
       "plateau: the learning rate falls no lower",
       {.least = 0, .most = kMostRate, .decides_bits = true}},
      {"SOLVER.MAX_ITER", &c.schedule.max_iter, "number of iterations of the run", {.least = 1}},
      {"SOLVER.WARM_UP_ITERS",
       &c.schedule.warm_up_iters,
       "number of warm-up iterations",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.WARM_UP_FACTOR",
       &c.schedule.warm_up_factor,
       "fraction of the learning rate at the start of the warm-up",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.WARM_UP_METHOD",
       &c.schedule.warm_up_method,
       "warm-up factor over time: linear or constant",
       {.decides_bits = true, .words = {"linear", "constant"}}},
      {"SOLVER.TYPE",
       &c.optimizer.type,
       "the optimiser: " + solver_types(),
       {.words = solver_type_names()}},
      {"SOLVER.MOMENTUM",
       &c.optimizer.momentum,
       "momentum of SGD, Nesterov and LARS",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.NESTEROV", &c.optimizer.nesterov, "true: an old spelling of SOLVER.TYPE: Nesterov"},
      {"SOLVER.BETA1",
       &c.optimizer.beta1,
       "Adam, AdamW, LAMB: decay rate of the first moment; Lion: share of the momentum in a step",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.BETA2",
       &c.optimizer.beta2,
       "Adam, AdamW, LAMB: decay rate of the second moment; Lion: of the momentum, usually 0.99",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.ALPHA",
       &c.optimizer.alpha,
       "RMSProp, CentredRMSProp: decay rate of the mean of squares",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.RMSPROP_MOMENTUM",
       &c.optimizer.rmsprop_momentum,
       "momentum of RMSProp and CentredRMSProp",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.LR_DECAY",
       &c.optimizer.rate_decay,
       "Adagrad: the t-th update divides the learning rate by 1 + (t - 1) LR_DECAY",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.INITIAL_ACCUMULATOR",
       &c.optimizer.initial_accumulator,
       "Adagrad: first value of the sums of squares",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.TRUST",
       &c.optimizer.trust,
       "LARS: trust coefficient, the length of a weight's step at learning rate 1 relative to the "
       "weight",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.EPSILON",
       &c.optimizer.epsilon,
       "all but SGD, Nesterov and Lion: added to the denominator",
       {.least = 0, .decides_bits = true}},
      {"SOLVER.SCALE_MOMENTUM",
       &c.schedule.scale_momentum,
       "SGD, Nesterov and LARS: rescale the momentum when the learning rate jumps",
       {.decides_bits = true}},
      {"SOLVER.SCALE_MOMENTUM_THRESHOLD",
       &c.schedule.scale_momentum_threshold,
       "a change of the learning rate by more than this factor is a jump",
       {.least = 1, .decides_bits = true}},
      {"SOLVER.LOG_LR_CHANGE_THRESHOLD",
       &c.log_lr_change_threshold,
       "a change of the learning rate by more than this factor is logged",
       {.least = 1}}};
}

ConfigKeys run_keys(TrainSettings& c, const std::string& seeded) {
  return {{"OUTPUT_DIR",
           &c.output_dir,
           "folder of this configuration's runs; default: runs/ and the file's name",
           {.own = true}},
          {"RNG_SEED", &c.seed, "seed of " + seeded, {.least = 0, .remembered = true}}};
}

ConfigKeys loop_keys(TrainSettings& c) {
  return {{"TRAIN.LOG_ITERS",
           &c.log_iters,
           "iterations between two lines of output, and between two rows of metrics.jsonl",
           {.least = 1}},
          {"TRAIN.DRIFT_ITERS",
           &c.drift_iters,
           "iterations between two bit-for-bit comparisons of all replicas",
           {.least = 1}},
          {"TEST.ITERS",
           &c.test_iters,
           "iterations between two tests on the held-out data",
           {.least = 1}},
          {"TEST.PATIENCE",
           &c.patience,
           "end the run after this number of tests in a row without a better score; 0: go on to "
           "SOLVER.MAX_ITER",
           {.least = 0}}};
}

std::vector<std::pair<std::string, std::string>> changed_settings(const ConfigKeys& keys,
                                                                  const ConfigKeys& defaults) {
  const auto before = entries_of(defaults);
  auto changed = entries_of(keys);
  std::erase_if(changed, [&](const auto& entry) {
    return entry.first == "OUTPUT_DIR" ||
           std::find(before.begin(), before.end(), entry) != before.end();
  });
  return changed;
}

SessionOptions session_options(const TrainSettings& settings, int threads, Comm* comm) {
  return {.seed = static_cast<uint64_t>(settings.seed),
          .threads = threads,
          .compile = {.tf32 = settings.run.tf32,
                      .exact = settings.run.exact,
                      .record = settings.run.record},
          .comm = comm};
}

}  // namespace lockstep
