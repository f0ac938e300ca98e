// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <deque>
#include <functional>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "builders/all_reduce/expand.h"
#include "builders/step/partition.h"
#include "graph/limits.h"
#include "graph/passes/replicate.h"
#include "operators/all.h"
#include "operators/shape/shape.h"
#include "runtime/dist/gloo.h"
#include "runtime/dist/rendezvous.h"
#include "runtime/state/session.h"
#include "runtime/threads/cores.h"
#include "runtime/threads/parallel.h"
#include "tools/bench/bench.h"
#include "tools/bench/medians.h"

namespace lockstep {
namespace {

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
    // Takes the sum before its renaming copy, so that it can be in the state's memory.
    const Node maker = *all.step.producer(all.step.at(update.value));
    if (maker.type() == "Identity") update.value = all.step.name(maker.inputs()[0]);
  }
  return all;
}

// Copies as many bytes as all replicas hold, on all cores.
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
    const auto number = static_cast<std::size_t>(worker);
    const auto count = static_cast<std::size_t>(workers_.count());
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

// Sessions that each run one algorithm; adds the functions that run them to `candidates`.
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
  std::vector<float> data(static_cast<std::size_t>(count), 0.5F);
  std::vector<std::string> names{"Gloo's ring"};
  std::vector<std::function<void()>> candidates{
      [&] { gloo_ring_sum(comm, data.data(), data.size()); }};
  Sums sums;
  for (const char* spec : {"collective", "xring", "rechd"}) {
    names.emplace_back(spec);
    sums.add(partition(sum_model(spec, replicas * comm.size(), count), {comm.rank(), comm.size()}),
             options.devices, &comm, candidates);
  }
  const auto rows = rows_of(names, median_seconds(options.runs, candidates));
  if (comm.rank() == 0)
    print(rows, options.megabytes, join(comm.size(), " processes of ", replicas, " replicas"),
          options.as_json);
  return 0;
}

}  // namespace

int bench_all_reduce(const AllReduceBench& options) {
  const auto count = static_cast<int64_t>(options.megabytes * 1e6 / sizeof(float));
  const int replicas = static_cast<int>(parse_devices(options.devices).size());
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  check_memory(2 * static_cast<std::size_t>(replicas) * bytes,
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
  const auto rows = rows_of(names, median_seconds(options.runs, candidates));
  print(rows, options.megabytes, join(replicas, " replicas in one process"), options.as_json);
  return 0;
}

}  // namespace lockstep
