// SPDX-License-Identifier: Apache-2.0
#include "app/step/config.h"

#include <cmath>

#include "app/config/read.h"
#include "app/train/saved_numbers.h"
#include "app/train/solver.h"
#include "builders/optimizers/lr_policy.h"

namespace lockstep {
namespace {

// Keys of SOLVER without an effect here: no line of a log tells the rate, and no test gives a
// score.
bool is_for_runs(const std::string& key) {
  return key == "SOLVER.LOG_LR_CHANGE_THRESHOLD" || key.starts_with("SOLVER.PLATEAU_");
}

// Throws for a known key of other commands, since the error for a misspelt key would not help.
void check_applies(ConfigKeys keys, const std::vector<std::string>& words) {
  TrainSettings every;
  ConfigKeys others = joined({solver_keys(every), run_keys(every, "the run"), loop_keys(every)});
  for (std::size_t i = 0; i < words.size(); i += 2)
    if (const ConfigKey* known = find_key(others, words[i]))
      check(find_key(keys, known->key), "command line: ", Key{known->key},
            " has no effect on single steps; `lockstep step` accepts keys of the run, of the step, "
            "of the optimiser and its rate, RNG_SEED, MODEL.TRAIN and MODEL.TRAIN_BATCH_NORM");
}

// Sets the targets of a key to the value of a flag.
template <class T, class... Targets>
void take_flag(const char* flag, const char* key, const std::optional<T>& given, const Origins& set,
               Targets&... targets) {
  if (!given) return;
  check(!set.is_set(key), flag, " and ", Key{key}, " are both given; give one of them");
  check(std::isfinite(static_cast<double>(*given)) && *given >= 0, flag, " is ", *given,
        ", should be 0 or more");
  ((targets = *given), ...);
}

void check_schedule(const LrSchedule& schedule, bool ends) {
  check_rates(schedule);
  const LrPolicy& policy = *find_lr_policy(schedule.policy);
  check(!policy.follows_tests, Key{"SOLVER.LR_POLICY"}, " is ", schedule.policy,
        ", which follows the scores of tests, but `lockstep step` does not test; choose another "
        "policy");
  check(ends || !policy.needs_end, Key{"SOLVER.LR_POLICY"}, " is ", schedule.policy,
        ", which needs the number of all steps, also of later calls; set ", Key{"SOLVER.MAX_ITER"});
}

}  // namespace

StepConfig::StepConfig() {
  seed = 1;
  step.options.rules = {.weight_decay = 0, .weight_decay_norm = 0, .bias_rate_factor = 1};
  schedule.base_lr = 0.01;
  schedule.step_size = schedule.max_iter = kMostSteps;
}

bool StepConfig::has_constant_rate() const {
  return schedule.policy == "step" && schedule.step_size == kMostSteps &&
         schedule.warm_up_iters == 0;
}

ConfigKeys keys_of(StepConfig& config) {
  ConfigKeys keys =
      joined({keys_of(config.run),
              keys_of(config.step),
              solver_keys(config),
              keys_of(config.trained),
              {{"RNG_SEED", &config.seed, "seed of dropout", {.least = 0, .remembered = true}}}});
  std::erase_if(keys, [](const ConfigKey& key) { return is_for_runs(key.key); });
  return keys;
}

StepConfig read_step_config(const StepRequest& request) {
  StepConfig config;
  Origins set;
  ConfigKeys keys = keys_of(config);
  check_applies(keys, request.settings);
  read_words(keys, request.settings, &set);
  ParamRules& rules = config.step.options.rules;
  take_flag("--lr", "SOLVER.BASE_LR", request.rate, set, config.schedule.base_lr);
  take_flag("--momentum", "SOLVER.MOMENTUM", request.momentum, set, config.optimizer.momentum);
  take_flag("--weight-decay", "SOLVER.WEIGHT_DECAY", request.weight_decay, set, rules.weight_decay,
            rules.weight_decay_norm);
  take_flag("--seed", "RNG_SEED", request.seed, set, config.seed);
  config.ends = set.is_set("SOLVER.MAX_ITER");
  placing(set, "command line", [&] {
    check_schedule(config.schedule, config.ends);
    check_solver(config.optimizer);
    check_fits(config.step, config.run);
  });
  return config;
}

}  // namespace lockstep
