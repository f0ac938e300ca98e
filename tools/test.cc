// SPDX-License-Identifier: Apache-2.0
// lockstep test: scores trained weights on the held-out images or text, or on fresh episodes.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "app/control/control_config.h"
#include "app/detection/types.h"
#include "app/predict/test_command.h"
#include "app/tasks.h"
#include "app/text/types.h"
#include "app/train/run_folder.h"
#include "app/train/run_place.h"
#include "app/train/weights.h"
#include "graph/error.h"
#include "graph/printable.h"
#include "runtime/state/checkpoint.h"
#include "tools/command.h"
#include "tools/config_command.h"

namespace lockstep {

std::string weights_for(const WeightsWanted& wanted) {
  if (!wanted.given.empty()) {
    check_weights(wanted.given);
    return wanted.given;
  }
  const ChosenRun chosen = choose_run(wanted.series, [&](const std::string& folder) {
    const std::string why = lacks_checkpoint(folder);
    return why.empty() ? wanted.other_network(last_checkpoint_in(folder)) : why;
  });
  check(!chosen.folder.empty() || !chosen.passed_over.empty(), wanted.config,
        ": there is no run in '", wanted.series, "' yet; `lockstep train ", wanted.config,
        "` starts one, and --weights FILE selects other weights");
  check(!chosen.folder.empty(), wanted.config, ": no run of '", wanted.series,
        "' fits; --weights FILE selects other weights:", reasons_of(chosen));
  if (const std::string said = text_of(chosen); wanted.says && !said.empty()) say_on_terminal(said);
  const std::string checkpoint = checkpoint_in(chosen.folder);
  check(std::filesystem::exists(checkpoint), "'", chosen.folder,
        "' contains no checkpoint.safetensors",
        offer_of_previous(chosen.folder,
                          join("use it with:  lockstep test ", shell_word(wanted.config),
                               " --weights ", shell_word(previous_of(checkpoint)))),
        "; --weights FILE selects other weights");
  check_weights(checkpoint);
  return checkpoint;
}

void add_test(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<TestOptions>();
  CLI::App* command = app.add_subcommand(
      "test", "score trained weights on the held-out pictures or text, or on fresh episodes");
  command->add_option("config", options->config, "CONFIG.yaml")->required();
  auto settings = std::make_shared<KeyWords>(*command);
  command->add_option("--weights", options->weights,
                      "a .safetensors file, instead of the newest run's checkpoint");
  command->add_option(
      "--out", options->out,
      "folder to write scores.json to; of a detector also its results, which without "
      "this go to OUTPUT_DIR/test/DATASETS/MODEL.TYPE");
  command->footer(
      "Example:  lockstep test configs/lenet_digits.yaml --weights runs/latest/best.safetensors\n"
      "KEY VALUE pairs override the file.");
  command->callback([options, settings, &chosen] {
    chosen = [options, overrides = settings->all()] {
      return over_processes([&](Comm* comm) {
        const ConfigFiles files = config_files(options->config);
        const auto test = is_detector(files, overrides)         ? test_detector
                          : is_language_model(files, overrides) ? test_language_model
                          : is_control(files, overrides)        ? test_control
                                                                : test_classifier;
        return explaining_unknown(files, overrides,
                                  [&] { return test(*options, files, overrides, comm); });
      });
    };
  });
}

}  // namespace lockstep
