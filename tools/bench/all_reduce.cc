// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <deque>
#include <functional>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "builders/all_reduce/all_reduce.h"
#include "builders/all_reduce/expand.h"
#include "graph/limits.h"
#include "graph/passes/replicate.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "lockstep/processes.h"
#include "lockstep/session.h"
#include "lockstep/session_options.h"
#include "runtime/dist/gloo.h"
#include "runtime/exec/workers.h"
#include "runtime/plan/compile.h"
#include "runtime/threads/cores.h"
#include "tools/bench/bench.h"
#include "tools/bench/medians.h"
#include "tools/bench/options.h"

namespace lockstep {
namespace {

constexpr int kRuns = 9;

struct AllReduceBench {
  std::string devices = "cpu*4";
  double megabytes = 102.334368;  // ResNet-50's gradients
  bool as_json = false;
};

// A model that only sums one state over all replicas, in place.
TrainingModel sum_model(const std::string& spec, int replicas, int64_t count) {
  const AllReduceOptions options{.spec = parse_all_reduce(spec)};
  TrainingModel one(all_ops());
  one.states.push_back({{"x", {"x"}}, StateKind::computed});
  const Value x = one.step.input("x", {DType::float32, {count}});
  // A view, so that the state belongs to its replica.
  const Value gradient = identity(one.step, x, "x_grad");
  const Value result = AllReducer(options, replicas).sum(one.step, gradient, "x");
  one.updates.push_back({"x", one.step.name(result)});
  TrainingModel all = replicate(one, replicas, "cpu");
  all.step = expand(std::move(all.step), options);
  for (Binding& update : all.updates) {
    // Takes the sum before its renaming copy, so that the sum can be in the state's memory.
    const Node maker = *all.step.producer(all.step.at(update.value));
    if (maker.type() == "Identity") update.value = all.step.name(maker.inputs()[0]);
  }
  return all;
}

// Copies the bytes of all replicas, on all cores.
class MemoryCopy {
 public:
  MemoryCopy(int replicas, std::size_t bytes) : workers_(cpu_cores(), 1) {
    for (int k = 0; k < replicas; ++k) {
      from_.emplace_back(bytes, 'x');
      to_.emplace_back(bytes, 'y');
    }
  }

  void run() {
    workers_.run([](void* self, int worker) { static_cast<MemoryCopy*>(self)->share(worker); },
                 this);
  }

 private:
  void share(int worker) {
    const std::size_t number = worker;
    const std::size_t count = workers_.count();
    for (std::size_t k = 0; k < from_.size(); ++k) {
      const std::size_t begin = from_[k].size() * number / count;
      const std::size_t end = from_[k].size() * (number + 1) / count;
      std::memcpy(to_[k].data() + begin, from_[k].data() + begin, end - begin);
    }
  }

  std::vector<std::vector<char>> from_, to_;
  Workers workers_;
};

struct Row {
  std::string name;
  double seconds;
  double ratio;  // speed relative to the first row
};

std::vector<Row> rows_of(const std::vector<std::string>& names,
                         const std::vector<double>& seconds) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < names.size(); ++i)
    rows.push_back({names[i], seconds[i], seconds[0] / seconds[i]});
  return rows;
}

// Sessions that run one algorithm each; adds the functions that run them to `candidates`.
struct Sums {
  std::deque<TrainingModel> models;
  std::deque<Session> sessions;

  void add(TrainingModel model, const std::string& devices, Comm* comm,
           std::vector<std::function<void()>>& candidates) {
    models.push_back(std::move(model));
    Session& session = sessions.emplace_back(models.back(), parse_devices(devices), all_kernels(),
                                             SessionOptions{1, 0, {}, comm});
    for (const std::string& name : models.back().state_values()) {
      const Graph& step = models.back().step;
      const Value x = step.at(name);
      session.load({{name, Literal(step.dtype(x), to_dims(step.shape(x)))}});  // sums stay zero
    }
    candidates.emplace_back([&session] { session.step().run({}, session.run_options(0)); });
  }
};

void print(const std::vector<Row>& rows, double megabytes, const std::string& title, bool as_json) {
  if (as_json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Row& row : rows)
      list.push_back({{"name", row.name}, {"seconds", row.seconds}, {"ratio", row.ratio}});
    std::cout << nlohmann::json{{"title", title}, {"megabytes", megabytes}, {"rows", list}}.dump(2)
              << "\n";
    return;
  }
  std::cout << title << ", " << megabytes << " MB each\n" << std::fixed;
  for (const Row& row : rows)
    std::cout << std::left << std::setw(36) << row.name << std::right << std::setw(10)
              << std::setprecision(1) << row.seconds * 1e3 << " ms" << std::setw(8)
              << std::setprecision(2) << row.ratio << " x\n";
}

int over_processes(const AllReduceBench& options, Comm& comm, int64_t count) {
  const int replicas = static_cast<int>(parse_devices(options.devices).size());
  std::vector<float> data(count, 0.5F);
  std::vector<std::string> names{"Gloo's ring"};
  std::vector<std::function<void()>> candidates{
      [&] { gloo_ring_sum(comm, data.data(), data.size()); }};
  Sums sums;
  std::vector<std::string> specs{"collective", "xring", "rechd"};
  if (!parse_devices(options.devices)[0].info().in_host_memory) specs.emplace_back("nccl");
  for (const std::string& spec : specs) {
    names.push_back(spec);
    sums.add(partition(sum_model(spec, replicas * comm.size(), count), {comm.rank(), comm.size()}),
             options.devices, &comm, candidates);
  }
  const auto rows = rows_of(names, median_seconds(kRuns, candidates));
  if (comm.rank() == 0)
    print(rows, options.megabytes, join(comm.size(), " processes of ", replicas, " replicas"),
          options.as_json);
  return 0;
}

// Compares sums over replicas with copying memory. With several processes (lockstep launch),
// compares sums over processes with Gloo's own ring.
int bench_all_reduce(const AllReduceBench& options) {
  check(options.megabytes >= 0.001 && options.megabytes <= 100000, "--megabytes is ",
        options.megabytes, ", should be from 0.001 to 100000");
  const auto count = static_cast<int64_t>(options.megabytes * 1e6 / sizeof(float));
  const int replicas = static_cast<int>(parse_devices(options.devices).size());
  const std::size_t bytes = count * sizeof(float);
  check_memory(2 * replicas * bytes,
               join("copying --megabytes ", options.megabytes, " for each replica"));
  if (const std::unique_ptr<Comm> comm = join_world(world_of_environment()))
    return over_processes(options, *comm, count);
  MemoryCopy copy(replicas, bytes);
  std::vector<std::string> names{"copying that memory"};
  std::vector<std::function<void()>> candidates{[&] { copy.run(); }};
  Sums sums;
  for (const char* spec : {"collective", "xring", "rechd", "psgpu#2", "simple"}) {
    names.emplace_back(spec);
    sums.add(sum_model(spec, replicas, count), options.devices, nullptr, candidates);
  }
  const auto rows = rows_of(names, median_seconds(kRuns, candidates));
  print(rows, options.megabytes, join(replicas, " replicas in one process"), options.as_json);
  return 0;
}

}  // namespace

void add_bench_all_reduce(CLI::App& bench, Command& chosen) {
  auto options = std::make_shared<AllReduceBench>();
  CLI::App* command = bench.add_subcommand(
      "all-reduce", "the time to sum a tensor over the replicas, or over processes");
  add_devices(*command, options->devices);
  command->add_option("--megabytes", options->megabytes, "size of each replica's tensor")
      ->capture_default_str();
  add_json(*command, options->as_json);
  command->footer("Example:  lockstep launch -n 2 -- lockstep bench all-reduce --devices cpu");
  command->callback([=, &chosen] { chosen = [=] { return bench_all_reduce(*options); }; });
}

}  // namespace lockstep
