// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/train_config.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/format.h"
#include "app/inspect/json_lines.h"
#include "app/machine.h"
#include "app/task_kind.h"
#include "app/trace/steps_trace.h"
#include "app/train/partitioned_steps.h"
#include "app/train/trace_place.h"
#include "lockstep/loader.h"
#include "lockstep/operators.h"
#include "lockstep/session.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/planned_memory.h"
#include "runtime/state/session_members.h"
#include "tools/bench/profile.h"

namespace lockstep {
namespace {

constexpr double kMiB = 1 << 20;
constexpr int64_t kMostPassed = 500;  // minibatches of other forms for each that is timed
constexpr std::size_t kFirst = 2;     // steps that are listed apart from the later steps

// Of one step of the process.
struct StepCost {
  double wall = 0, user = 0, system = 0;
  double faults = 0;  // pages that the kernel gave
};

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

StepCost spent_until_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double>(now).count(), seconds_of(usage.ru_utime),
          seconds_of(usage.ru_stime), static_cast<double>(usage.ru_minflt)};
}

StepCost spent_since(const StepCost& a, const StepCost& b) {
  return {a.wall - b.wall, a.user - b.user, a.system - b.system, a.faults - b.faults};
}

StepCost median_cost(std::vector<StepCost> costs) {
  StepCost median;
  for (double StepCost::*part :
       {&StepCost::wall, &StepCost::user, &StepCost::system, &StepCost::faults}) {
    std::ranges::sort(costs, {}, part);
    median.*part = costs[costs.size() / 2].*part;
  }
  return median;
}

struct TimedSteps {
  std::vector<StepCost> costs;
  Profile profile;
  PlannedMemory planned;
  int64_t images = 0;
  int threads = 0;
  std::size_t before = 0, resident = 0, most = 0;  // bytes of the process

  // Of the process's peak over its size before planning.
  std::size_t grown() const { return most - std::min(before, most); }
};

class ConfigSteps {
 public:
  explicit ConfigSteps(const TrainConfigBench& options)
      : options_(options),
        files_(config_files(options.config)),
        task_(task_of({files_, options.words})) {
    check_trace_place(options.trace, files_, task_->keys());
    task_->prepare();
    std::vector<TrainingModel> steps = own_steps(*task_, nullptr);
    model_.emplace(std::move(steps.front()));
    const TrainSettings& settings = task_->settings();
    result_.before = resident_memory();
    session_ = std::make_unique<Session>(*model_, all_devices(settings.run), all_kernels(),
                                         session_options(settings, settings.run.threads, nullptr));
    session_->initialise();
    task_->open(*session_, rows_of_process(*task_, *model_));
    check(
        !settings.resident, options.config,
        ": TRAIN.RESIDENT true leaves no minibatches to time; `lockstep bench resident` times rows "
        "on the devices");
    check(!task_->rounds(), options.config,
          ": this task gathers its data by rounds and has no minibatches to time");
    result_.images = task_->images_of_step();
    result_.threads = session_->threads();
    feeds_.emplace(*model_, task_->divides_rows() ? WholeRun{result_.images} : WholeRun{});
  }

  // Minibatches of other forms are passed over: each form has a step of its own.
  TimedSteps run() {
    trace_.emplace(options_.trace, *session_, TracedSteps{1, options_.steps},
                   options_.as_json ? std::cerr : std::cout);
    const MinibatchSource& source = task_->minibatches();
    Loader loader(source, task_->reading_threads());
    const int64_t all = options_.steps + static_cast<int64_t>(kFirst);
    int64_t taken = 0;
    for (int64_t step = 0; taken < all; ++step) {
      const std::span<const Tensor> batch = loader.get(step);
      check(step < kMostPassed * (taken + 1), options_.config, ": hardly a minibatch has '",
            source.forms()[0][0].name, "' of ", source.forms()[0][0].desc,
            ", whose step is timed; give the configuration one shape (DATA.BUCKETS, TRAIN.SHAPES)");
      if (source.form(step) != 0) continue;
      for (std::size_t i = 0; i < batch.size(); ++i)
        feeds_->set(source.forms()[0][i].name, batch[i]);
      take(step, taken++);
    }
    result_.resident = resident_memory();
    result_.most = peak_memory();
    if (options_.profile && !options_.as_json) {
      print_profile(plan(), result_.profile);
      print_phases(plan(), result_.profile);
      print_fullest(plan());
    }
    return std::move(result_);
  }

 private:
  const Plan& plan() { return plan_of(session_->step(), feeds_->tensors()); }

  void take(int64_t step, int64_t taken) {
    const TrainSettings& settings = task_->settings();
    feeds_->set(Role::rate, learning_rate(settings.schedule, step));
    if (feeds_->has(Role::correction))
      feeds_->set(Role::correction, momentum_correction(settings.schedule, step));
    RunOptions run = session_->run_options(static_cast<uint64_t>(step));
    const bool later = taken >= static_cast<int64_t>(kFirst);
    if (later && result_.profile.runs == 0) {
      result_.profile.seconds = StepTimes(plan().steps.size(), 0);
      result_.planned = planned_memory(plan());
      for (const Tensor& feed : feeds_->tensors())
        result_.planned.loader += Loader::kAhead * feed.desc.bytes();
    }
    if (later && options_.profile) run.times = &result_.profile.seconds;
    trace_->around(taken - static_cast<int64_t>(kFirst) + 1, static_cast<double>(result_.images),
                   [&] {
                     const StepCost before = spent_until_now();
                     session_->step().run(feeds_->tensors(), run);
                     result_.costs.push_back(spent_since(spent_until_now(), before));
                   });
    if (!later) return;
    ++result_.profile.runs;
    result_.profile.wall += result_.costs.back().wall;
  }

  const TrainConfigBench& options_;
  const ConfigFiles files_;
  std::unique_ptr<Task> task_;
  std::optional<TrainingModel> model_;
  std::unique_ptr<Session> session_;
  std::optional<Feeds> feeds_;
  std::optional<PrintedTrace> trace_;
  TimedSteps result_;
};

void print_steps(const TrainConfigBench& options, const TimedSteps& steps) {
  const auto line = [](const std::string& name, const StepCost& cost) {
    std::cout << std::setw(9) << name << std::fixed << std::setprecision(3) << std::setw(9)
              << cost.wall << std::setw(9) << cost.user << std::setw(10) << cost.system
              << std::setprecision(0) << std::setw(13) << cost.faults << "\n";
  };
  std::cout << options.config << ": " << steps.images << " examples a step, " << steps.threads
            << " threads for each replica\n"
            << "     step   wall s   user s  system s  page faults\n";
  for (std::size_t i = 0; i < kFirst; ++i) line(std::to_string(i + 1), steps.costs[i]);
  line("later", median_cost({steps.costs.begin() + kFirst, steps.costs.end()}));
  const PlannedMemory& planned = steps.planned;
  const auto row = [](std::size_t bytes, const char* name) {
    std::cout << std::setw(9) << std::setprecision(1) << static_cast<double>(bytes) / kMiB << "  "
              << name << "\n";
  };
  std::cout << "      MiB\n";
  row(planned.arenas, "arenas of the plan");
  row(planned.states, "states: parameters, momentum, statistics");
  row(planned.kept, "kept for the next run");
  row(planned.scratch, "scratch: constants, copies for kernels on the host");
  row(planned.loader, "loader: minibatches in memory");
  row(planned.all(), "in all, by which the process should grow");
  row(steps.grown(), "by which the process grew, at most");
  row(steps.before, "of the process before planning: program, graphs, data set");
  row(steps.resident, "of the process after the steps");
  row(steps.most, "of the process at most");
}

nlohmann::json json_of(const StepCost& cost) {
  return {{"wall", cost.wall},
          {"user", cost.user},
          {"system", cost.system},
          {"page_faults", cost.faults}};
}

}  // namespace

int bench_train_config(const TrainConfigBench& options) {
  const TimedSteps steps = ConfigSteps(options).run();
  if (!options.as_json) {
    print_steps(options, steps);
    return 0;
  }
  nlohmann::json first = nlohmann::json::array();
  for (std::size_t i = 0; i < kFirst; ++i) first.push_back(json_of(steps.costs[i]));
  std::cout << nlohmann::json{{"config", options.config},
                              {"examples", steps.images},
                              {"threads", steps.threads},
                              {"first", first},
                              {"later", json_of(median_cost(
                                            {steps.costs.begin() + kFirst, steps.costs.end()}))},
                              {"planned_bytes", steps.planned.all()},
                              {"predicted", json_of(steps.planned)},
                              {"grown_bytes", steps.grown()},
                              {"resident_bytes", steps.resident},
                              {"most_bytes", steps.most}}
                   .dump()
            << "\n";
  return 0;
}

}  // namespace lockstep
