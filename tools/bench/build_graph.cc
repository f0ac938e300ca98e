#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "builders/data_parallel.h"
#include "models/models.h"
#include "operators/all.h"
#include "tools/bench/bench.h"

namespace lockstep {

// An MLP of 500 forward operators on 1 to 64 replicas, the median of three.
int bench_build_graph(bool as_json) {
  ClassifierOptions options;
  options.hidden.assign(249, 16);
  nlohmann::json rows = nlohmann::json::array();
  if (!as_json) std::cout << "replicas   step nodes   seconds   ms/replica\n";
  for (int replicas : {1, 2, 4, 8, 16, 32, 64}) {
    std::vector<double> seconds;
    int nodes = 0;
    for (int run = 0; run < 3; ++run) {
      auto start = std::chrono::steady_clock::now();
      TrainingModel model =
          build_data_parallel_model(all_ops(), mlp(options), {}, {.replicas = replicas});
      seconds.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      nodes = model.step.node_count();
    }
    std::sort(seconds.begin(), seconds.end());
    rows.push_back({{"replicas", replicas}, {"nodes", nodes}, {"seconds", seconds[1]}});
    if (!as_json)
      std::cout << std::setw(8) << replicas << std::setw(13) << nodes << std::setw(10)
                << std::setprecision(3) << std::fixed << seconds[1] << std::setw(13)
                << seconds[1] / replicas * 1e3 << "\n";
  }
  if (as_json) std::cout << rows.dump(2) << "\n";
  return 0;
}

}  // namespace lockstep
