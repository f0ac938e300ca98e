// SPDX-License-Identifier: Apache-2.0
// The cost of a trace: steps of one session with and without the recording of times, in turns.
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/trace/recorder.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"
#include "runtime/state/session_members.h"
#include "tools/bench/bench.h"
#include "tools/bench/fed_batch.h"
#include "tools/bench/medians.h"
#include "tools/bench/networks.h"
#include "tools/bench/options.h"

namespace lockstep {
namespace {

struct TraceCostBench {
  std::string model = "lenet", devices = "cpu*2";
  int64_t batch = 64;
  int threads = 0;
  int steps = 101;
  bool as_json = false;
};

TrainingModel traced_model(const TraceCostBench& options, const BenchNetwork& network,
                           const Comm* comm) {
  DataParallelOptions step = replicas_on(parse_devices(options.devices));
  step.replicas *= comm ? comm->size() : 1;
  TrainingModel whole = build_data_parallel_model(all_ops(), network.make, MomentumSgd{}, step);
  return comm ? partition(whole, {comm->rank(), comm->size()}) : std::move(whole);
}

int bench_trace_cost(const TraceCostBench& options) {
  const std::unique_ptr<Comm> comm = join_world(world_of_environment());
  const BenchNetwork network = bench_network(options.model);
  const TrainingModel model = traced_model(options, network, comm.get());
  Session session(model, parse_devices(options.devices), all_kernels(),
                  {.threads = options.threads, .comm = comm.get()});
  session.initialise();
  const FedBatch batch(model, options.batch, network.classes);
  Feeds feeds(model);
  feeds.set(Role::rate, 1e-4F);
  batch.set(feeds);
  uint64_t number = 0;
  for (int i = 0; i < 2; ++i) session.run_step(feeds, number++);  // plan and touch memory
  TraceRecorder recorder(session, comm.get(), {});
  const auto plain = [&] {
    session.members().recorder = nullptr;
    session.run_step(feeds, number++);
  };
  const auto traced = [&] {
    session.members().recorder = &recorder;
    recorder.begin_iteration(static_cast<int64_t>(number));
    session.run_step(feeds, number++);
    recorder.end_iteration(static_cast<double>(options.batch));
  };
  const std::vector<double> seconds = median_seconds(options.steps, {plain, traced});
  if (comm && comm->rank() != 0) return 0;
  const double cost = seconds[1] / seconds[0] - 1;
  if (options.as_json) {
    std::cout << nlohmann::json{{"model", options.model},
                                {"batch", options.batch},
                                {"devices", options.devices},
                                {"processes", comm ? comm->size() : 1},
                                {"seconds", seconds[0]},
                                {"traced_seconds", seconds[1]},
                                {"cost", cost}}
                     .dump()
              << "\n";
    return 0;
  }
  std::cout << options.model << ", batch " << options.batch << " on "
            << (comm ? join(comm->size(), " processes of ") : "") << options.devices << std::fixed
            << std::setprecision(3) << ": " << 1e3 * seconds[0] << " ms a step, traced "
            << 1e3 * seconds[1] << " ms: " << std::showpos << std::setprecision(2) << 100 * cost
            << " % (medians of " << std::noshowpos << options.steps << " in turns)\n";
  return 0;
}

}  // namespace

void add_bench_trace_cost(CLI::App& bench, Command& chosen) {
  auto options = std::make_shared<TraceCostBench>();
  CLI::App* command =
      bench.add_subcommand("trace-cost", "steps with and without a trace, in turns");
  command->add_option("--model", options->model, "a classifier's name, or lstm")
      ->capture_default_str();
  add_devices(*command, options->devices);
  add_batch(*command, options->batch, "examples of a step, over all devices of this process");
  add_threads(*command, options->threads);
  command->add_option("--steps", options->steps, "number of timed steps of each kind")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  add_json(*command, options->as_json);
  command->footer(
      "Example:  lockstep bench trace-cost --model lenet --devices 'cpu*2'\n"
      "          lockstep launch -n 2 -- lockstep bench trace-cost --devices cpu");
  command->callback([=, &chosen] { chosen = [=] { return bench_trace_cost(*options); }; });
}

}  // namespace lockstep
