// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/machine.h"
#include "lockstep/data_parallel.h"
#include "lockstep/models.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "tools/bench/bench.h"
#include "tools/bench/options.h"

namespace lockstep {
namespace {

struct BuildGraphBench {
  std::string model = "";  // "": an MLP of 500 operators
  int replicas = 64;       // at most
  bool as_json = false;
};

struct Built {
  int nodes = 0;
  double seconds = 0;
};

Built build(const ModelFn& model, int replicas) {
  const auto start = std::chrono::steady_clock::now();
  const TrainingModel built =
      build_data_parallel_model(all_ops(), model, MomentumSgd{}, {.replicas = replicas});
  return {built.step.node_count(),
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

// Builds the network on more and more replicas; the median of three runs (one run above 64
// replicas).
int bench_build_graph(const BuildGraphBench& options) {
  ClassifierOptions of_mlp;
  of_mlp.hidden.assign(249, 16);
  const ModelFn model = options.model.empty()
                            ? mlp(of_mlp)
                            : model_named(options.model, published_options(options.model));
  nlohmann::json rows = nlohmann::json::array();
  if (!options.as_json) std::cout << "replicas   step nodes   seconds   ms/replica   peak GiB\n";
  for (int replicas = 1; replicas <= options.replicas; replicas *= 2) {
    std::vector<Built> runs;
    for (int run = 0; run < (replicas > 64 ? 1 : 3); ++run) runs.push_back(build(model, replicas));
    std::sort(runs.begin(), runs.end(),
              [](const Built& a, const Built& b) { return a.seconds < b.seconds; });
    const Built& median = runs[runs.size() / 2];
    const double memory = static_cast<double>(peak_memory()) / (1 << 30);
    rows.push_back({{"replicas", replicas},
                    {"nodes", median.nodes},
                    {"seconds", median.seconds},
                    {"gigabytes", memory}});
    if (!options.as_json)
      std::cout << std::setw(8) << replicas << std::setw(13) << median.nodes << std::setw(10)
                << std::setprecision(3) << std::fixed << median.seconds << std::setw(13)
                << median.seconds / replicas * 1e3 << std::setw(11) << std::setprecision(2)
                << memory << std::endl;
  }
  if (options.as_json) std::cout << rows.dump(2) << "\n";
  return 0;
}

}  // namespace

void add_bench_build_graph(CLI::App& bench, Command& chosen) {
  auto options = std::make_shared<BuildGraphBench>();
  CLI::App* command = bench.add_subcommand("build-graph", "the time to build a step's graph");
  command->add_option("--model", options->model,
                      "a classifier's name; by default an MLP of 500 operators");
  command->add_option("--replicas", options->replicas, "largest number of replicas")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  add_json(*command, options->as_json);
  command->footer("Example:  lockstep bench build-graph --model resnet50 --replicas 1024");
  command->callback([=, &chosen] { chosen = [=] { return bench_build_graph(*options); }; });
}

}  // namespace lockstep
