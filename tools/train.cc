// SPDX-License-Identifier: Apache-2.0
// lockstep train: trains the network of a CONFIG.yaml.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "app/task_kind.h"
#include "app/train/trace_place.h"
#include "app/train/train.h"
#include "lockstep/processes.h"
#include "runtime/dist/interruption.h"
#include "tools/command.h"
#include "tools/config_command.h"
#include "tools/trace_options.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

struct CommandLine : TrainOptions {
  std::string config;
};

// Takes the folder, file or "auto" after --resume out of the words. KEY VALUE pairs may follow.
void take_resume_folder(std::vector<std::string>& words, CommandLine& options) {
  if (!options.resume.wanted || words.size() % 2 == 0) return;
  for (std::size_t i = 0; i < words.size(); i += 2) {  // the words in between are values
    const bool is_last = i + 1 == words.size() && !is_key_of_a_task(words[i]);
    if (words[i] != "auto" && !fs::is_directory(words[i]) && words[i].find('/') == words[i].npos &&
        !is_last)
      continue;
    options.resume.in = words[i];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

}  // namespace

void add_train(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<CommandLine>();
  CLI::App* command = app.add_subcommand("train", "train a network as described in a CONFIG.yaml");
  command->add_option("config", options->config, "CONFIG.yaml")->required();
  auto settings = std::make_shared<KeyWords>(*command);
  command->add_flag("--resume", options->resume.wanted,
                    "continue from the last checkpoint of the newest run, of the run in FOLDER "
                    "(--resume FOLDER), or from a checkpoint (--resume FILE); `--resume auto` "
                    "starts a run if there is none");
  CLI::Option* quiet = command->add_flag("--quiet", options->quiet, "print only errors");
  command
      ->add_flag(
          "--debug", options->debug,
          "also print, before the first step, each parameter and whether it will be updated, and "
          "the sizes of gradients before and after packing")
      ->excludes(quiet);
  add_trace(*command, options->trace);
  command->footer(
      "Example:  lockstep train configs/lenet_digits.yaml --devices 'cpu*4' SOLVER.MAX_ITER 300\n"
      "          lockstep train configs/lenet_digits.yaml --resume runs/lenet_digits.2\n"
      "          lockstep train configs/lenet_digits.yaml --trace trace.json --trace-steps "
      "100:105\n"
      "KEY VALUE pairs override the file. Every run has its own folder: OUTPUT_DIR (a\n"
      "detector's: OUTPUT_DIR/train/DATASETS/MODEL.TYPE), then the same with .2, .3, ..\n"
      "Ctrl-C finishes the step and saves. For several processes, start the\n"
      "command with `lockstep launch`, torchrun, mpirun or srun; --devices names the devices\n"
      "of each process.");
  command->callback([options, settings, &chosen] {
    std::vector<std::string> overrides = settings->words();
    take_resume_folder(overrides, *options);
    settings->add_flags(overrides);
    chosen = [options, overrides] {
      end_on_signals_until_steps_begin();
      return over_processes([&](Comm* comm) {
        const int processes = comm ? comm->size() : 1;
        const bool leads = !comm || comm->rank() == 0;  // only rank 0 writes a trace
        if (leads) check_trace_file(options->trace);
        const ConfigFiles files = config_files(options->config);
        const std::unique_ptr<Task> task = task_of({files, overrides, processes});
        if (leads) check_trace_place(options->trace, files, task->keys());
        return train(*task, *options, comm);
      });
    };
  });
}

}  // namespace lockstep
