// SPDX-License-Identifier: Apache-2.0
// The benchmarks behind `lockstep bench NAME`. Each is a file that adds itself to the parser.
#pragma once

#include "tools/command.h"

namespace lockstep {

void add_bench_train_step(CLI::App& bench, Command& chosen);
void add_bench_conv(CLI::App& bench, Command& chosen);
void add_bench_all_reduce(CLI::App& bench, Command& chosen);
void add_bench_resident(CLI::App& bench, Command& chosen);
void add_bench_embedding(CLI::App& bench, Command& chosen);
void add_bench_detection_operators(CLI::App& bench, Command& chosen);
void add_bench_build_graph(CLI::App& bench, Command& chosen);
void add_bench_plan_growth(CLI::App& bench, Command& chosen);
void add_bench_trace_cost(CLI::App& bench, Command& chosen);

}  // namespace lockstep
