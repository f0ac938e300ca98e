// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "runtime/plan/compile.h"
#include "tools/bench/bench.h"
#include "tools/bench/options.h"

namespace lockstep {
namespace {

// The process's CPU time, independent of other load.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Every tenth value is read again much later, so that values cannot all share memory.
TrainingModel chain_of(int nodes) {
  TrainingModel model(all_ops());
  Graph& graph = model.inference;
  Value at = graph.input("x", {DType::float32, {2, 4}});
  std::vector<Value> kept{at};
  for (int i = 0; i < nodes; ++i) {
    at = i % 10 == 9 ? add(graph, at, kept[kept.size() / 2], Site("add"))
                     : relu(graph, at, Site("relu"));
    if (i % 10 == 0) kept.push_back(at);
  }
  graph.output(at);
  return model;
}

struct Row {
  double read = 0, plan = 0;
};

Row measure(int nodes) {
  const std::string path =
      (std::filesystem::temp_directory_path() / join("lockstep-plan-growth-", getpid(), ".onnx"))
          .string();
  std::string output;
  {
    const TrainingModel model = chain_of(nodes);
    output = model.inference.name(model.inference.outputs()[0]);
    save_model(model, path);
  }
  Row row;
  double start = cpu_seconds();
  const LoadedModel loaded = load_model(all_ops(), path);
  row.read = cpu_seconds() - start;
  std::filesystem::remove(path);
  start = cpu_seconds();
  compile({.graph = loaded.model.inference,
           .feeds = {"x"},
           .feed_dims = {{2, 4}},
           .fetches = {output},
           .devices = cpu_devices(1),
           .kernels = all_kernels()});
  row.plan = cpu_seconds() - start;
  return row;
}

// Ten times the nodes should take ten times as long.
int bench_plan_growth(int most, bool as_json) {
  nlohmann::json rows = nlohmann::json::array();
  if (!as_json) std::cout << "   nodes   read s   times   plan s   times\n";
  Row before;
  for (int nodes = 1000; nodes <= most; nodes *= 10) {
    const Row row = measure(nodes);
    rows.push_back({{"nodes", nodes}, {"read_seconds", row.read}, {"plan_seconds", row.plan}});
    auto times = [&](double now, double then) {
      std::cout << std::setw(9) << std::setprecision(3) << now << std::setw(8)
                << std::setprecision(1);
      if (then > 0)
        std::cout << now / then;
      else
        std::cout << "";
    };
    if (!as_json) {
      std::cout << std::fixed << std::setw(8) << nodes;
      times(row.read, before.read);
      times(row.plan, before.plan);
      std::cout << std::endl;
    }
    before = row;
  }
  if (as_json) std::cout << rows.dump(2) << "\n";
  return 0;
}

}  // namespace

void add_bench_plan_growth(CLI::App& bench, Command& chosen) {
  struct PlanGrowthBench {
    int nodes = 100000;  // at most
    bool as_json = false;
  };
  auto options = std::make_shared<PlanGrowthBench>();
  CLI::App* command =
      bench.add_subcommand("plan-growth", "the time to read and to plan ever longer graphs");
  command->add_option("--nodes", options->nodes, "largest number of nodes")
      ->capture_default_str()
      ->check(CLI::Range(1000, 1000000));
  add_json(*command, options->as_json);
  command->footer("Example:  lockstep bench plan-growth");
  command->callback([=, &chosen] {
    chosen = [=] { return bench_plan_growth(options->nodes, options->as_json); };
  });
}

}  // namespace lockstep
