#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "builders/data_parallel.h"
#include "builders/precision.h"
#include "models/models.h"
#include "operators/all.h"
#include "runtime/philox.h"
#include "runtime/session.h"
#include "tools/bench/bench.h"

namespace lockstep {
namespace {

// Random images and labels in the order that the session's step takes them.
class Feeds {
 public:
  Feeds(const TrainingModel& model, int64_t batch, int64_t classes) {
    const int64_t share = batch / model.replicas;
    check(share * model.replicas == batch, "a batch of ", batch, " does not divide over ",
          model.replicas, " devices");
    PhiloxSequence random(1, 1);
    for (const Replicated& input : model.inputs)
      for (const std::string& name : input.values) {
        const Value value = model.step.at(name);
        Shape shape = model.step.shape(value);
        if (!shape[0].known()) shape[0] = share;
        Literal literal(model.step.dtype(value), to_dims(shape));
        if (literal.dtype() == DType::int64)
          for (int64_t i = 0; i < literal.count(); ++i)
            reinterpret_cast<int64_t*>(literal.bytes().data())[i] = random.below(classes);
        else
          for (int64_t i = 0; i < literal.count(); ++i)
            reinterpret_cast<float*>(literal.bytes().data())[i] =
                input.name == "lr" ? 0.01F : static_cast<float>(random.uniform(-1, 1));
        literals_.push_back(std::move(literal));
      }
    for (const Literal& literal : literals_) tensors_.push_back(view_of(literal));
  }
  std::span<const Tensor> values() const { return tensors_; }

 private:
  std::vector<Literal> literals_;
  std::vector<Tensor> tensors_;
};

// `wall`: seconds of all runs together. What of it passes outside of kernels is the price of
// running them from a plan; with several replicas it would hold their waits for each other too.
void print_profile(const Plan& plan, const StepTimes& times, int runs, double wall) {
  std::map<std::string, std::pair<double, int>> by_kind;
  double all = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const std::string how = plan.steps[i].kernel->describe();
    auto& [seconds, count] = by_kind[plan.steps[i].type + (how.empty() ? "" : " [" + how + "]")];
    seconds += times[i] / runs;
    ++count;
    all += times[i] / runs;
  }
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [kind, spent] : by_kind) sorted.emplace_back(spent.first, kind);
  std::sort(sorted.rbegin(), sorted.rend());
  std::cout << "   ms/step      %  kernels  operator\n" << std::fixed;
  for (const auto& [seconds, kind] : sorted)
    std::cout << std::setw(10) << std::setprecision(1) << seconds * 1e3 << std::setw(7)
              << 100 * seconds / all << std::setw(9) << by_kind[kind].second << "  " << kind
              << "\n";
  if (plan.devices.size() == 1)
    std::cout << std::setw(10) << std::setprecision(3) << (wall / runs - all) * 1e3 << std::setw(7)
              << std::setprecision(2) << 100 * (wall / runs - all) / (wall / runs)
              << "           outside of kernels\n";
}

}  // namespace

int bench_train_step(const TrainStepBench& options, bool as_json) {
  const std::vector<Device> devices = parse_devices(options.devices);
  const ClassifierOptions published = published_options(options.model);
  TrainingModel model =
      build_data_parallel_model(all_ops(), model_named(options.model, published), {},
                                {.replicas = static_cast<int>(devices.size()),
                                 .scope = devices[0].kind == DeviceKind::cpu ? "cpu" : "gpu",
                                 .precision = parse_precision(options.precision)});
  Session session(model, devices, all_kernels(), {.threads = options.threads});
  session.initialise();
  Feeds feeds(model, options.batch, published.classes);
  session.step().run(feeds.values(), session.run_options(0));  // plans, and touches all memory

  const Plan& plan = session.step().plan(feeds.values());
  StepTimes times(plan.steps.size(), 0);
  std::vector<double> seconds;
  for (int step = 1; step <= options.steps; ++step) {
    RunOptions run = session.run_options(static_cast<uint64_t>(step));
    if (options.profile) run.times = &times;
    auto start = std::chrono::steady_clock::now();
    session.step().run(feeds.values(), run);
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double wall = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  if (as_json) {
    std::cout << nlohmann::json{{"model", options.model},         {"batch", options.batch},
                                {"devices", options.devices},     {"threads", session.threads()},
                                {"precision", options.precision}, {"seconds", median},
                                {"fastest", seconds.front()}}
                     .dump()
              << "\n";
    return 0;
  }
  if (options.profile) print_profile(plan, times, options.steps, wall);
  std::cout << std::fixed << std::setprecision(3) << options.model << ", batch " << options.batch
            << " on " << options.devices << " in " << options.precision << " with "
            << session.threads() << " threads each: " << median << " s a step (median of "
            << options.steps << "), " << std::setprecision(1)
            << static_cast<double>(options.batch) / median << " images/s\n";
  return 0;
}

}  // namespace lockstep
