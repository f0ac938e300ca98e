// SPDX-License-Identifier: Apache-2.0
// lockstep test: scores trained weights on the held-out images or text, or on fresh episodes.
#include <CLI/CLI.hpp>

#include "app/predict/score.h"
#include "app/task_kind.h"
#include "lockstep/processes.h"
#include "tools/command.h"
#include "tools/config_command.h"

namespace lockstep {

void add_test(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ScoreOptions>();
  CLI::App* command = app.add_subcommand(
      "test", "score trained weights on the held-out pictures or text, or on fresh episodes");
  command->add_option("config", options->config, "CONFIG.yaml")->required();
  auto settings = std::make_shared<KeyWords>(*command);
  command->add_option("--weights", options->weights,
                      "a .safetensors file, instead of the newest run's checkpoint");
  command->add_option(
      "--out", options->out,
      "folder to write scores.json to, and a detector's results; default for a detector: "
      "OUTPUT_DIR/test/DATASETS/MODEL.TYPE");
  command->footer(
      "Example:  lockstep test configs/lenet_digits.yaml --weights runs/latest/best.safetensors\n"
      "KEY VALUE pairs override the file.");
  command->callback([options, settings, command, &chosen] {
    check(!options->out.empty() || command->count("--out") == 0, "--out is empty; name a folder");
    chosen = [options, overrides = settings->all()] {
      return over_processes([&](Comm* comm) {
        const ConfigFiles files = config_files(options->config);
        return explaining_unknown(files, overrides,
                                  [&] { return score(*options, files, overrides, comm); });
      });
    };
  });
}

}  // namespace lockstep
