// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench.h"

#include <CLI/CLI.hpp>

namespace lockstep {

void add_bench(CLI::App& app, Command& chosen) {
  CLI::App* bench = app.add_subcommand("bench", "run one of the built-in benchmarks");
  bench->require_subcommand(1);
  bench->footer(
      "Example:  lockstep bench train-step --model resnet50 --batch 16 --profile\n"
      "          lockstep bench conv --shape 16x512x7x7,512,3");
  for (auto add : {add_bench_train_step, add_bench_conv, add_bench_all_reduce, add_bench_resident,
                   add_bench_embedding, add_bench_detection_operators, add_bench_build_graph,
                   add_bench_plan_growth, add_bench_trace_cost})
    add(*bench, chosen);
}

}  // namespace lockstep
