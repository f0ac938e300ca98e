// SPDX-License-Identifier: Apache-2.0
// The subcommands of `lockstep`. Each is a file that adds itself to the parser.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace lockstep {

// The function that main() runs after parsing; returns the exit code.
using Command = std::function<int()>;

void add_train(CLI::App& app, Command& chosen);
void add_test(CLI::App& app, Command& chosen);
void add_infer(CLI::App& app, Command& chosen);
void add_export(CLI::App& app, Command& chosen);
void add_build(CLI::App& app, Command& chosen);
void add_inspect(CLI::App& app, Command& chosen);
void add_plan(CLI::App& app, Command& chosen);
void add_simulate(CLI::App& app, Command& chosen);
void add_diff(CLI::App& app, Command& chosen);
void add_report(CLI::App& app, Command& chosen);
void add_run(CLI::App& app, Command& chosen);
void add_step(CLI::App& app, Command& chosen);
void add_onnx_test(CLI::App& app, Command& chosen);
void add_bench(CLI::App& app, Command& chosen);
void add_keys(CLI::App& app, Command& chosen);
void add_launch(CLI::App& app, Command& chosen);
void add_scenes(CLI::App& app, Command& chosen);
void add_weights(CLI::App& app, Command& chosen);
void add_doctor(CLI::App& app, Command& chosen);

}  // namespace lockstep
