// SPDX-License-Identifier: Apache-2.0
#include "app/diff/diff.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "app/diff/diff_text.h"
#include "tools/command.h"
#include "tools/config_command.h"

namespace lockstep {

void add_diff(CLI::App& app, Command& chosen) {
  struct Options {
    DiffRequest request;
    std::vector<std::pair<std::string, std::string>> in_b;
    bool all = false, json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "diff", "compare two steps, models, configurations, runs or files of weights");
  const char* const sources =
      "FILE.onnx, CONFIG.yaml, a run's folder, FILE.safetensors or a model's name";
  command->add_option("model", options->request.a, std::string("A: ") + sources)->required();
  command->add_option("other", options->request.b, std::string("B: ") + sources)->required();
  auto settings = std::make_shared<KeyWords>(*command);
  command
      ->add_option("--in-b", options->in_b,
                   "KEY VALUE for B alone; may be repeated. KEY VALUE without the option is for A "
                   "and B")
      ->type_name("KEY VALUE")
      ->allow_extra_args(false);
  command->add_flag(
      "--weights", options->request.weights,
      "compare the values of the tensors, by name: the largest difference, and where");
  command->add_flag(
      "--plan", options->request.plan,
      "compare the plans, too: kernels, layouts, waits, memory; for CPUs, or DEVICES");
  command->add_flag("--all", options->all, "print a line for each difference");
  command->add_flag("--json", options->json, "print every difference as JSON");
  command->footer(
      "Example:  lockstep diff before.onnx after.onnx\n"
      "          lockstep diff runs/lenet_digits runs/lenet_digits.2 --weights\n"
      "          lockstep diff resnet50 resnet50 --devices 'gpu*8' --in-b WIRE float16\n"
      "Nodes are paired by name and, where names changed, by structure. The exit code is 0 if "
      "nothing differs,\n1 if something differs, and 2 for an error.");
  command->callback([options, settings, &chosen] {
    options->request.settings = settings->all();
    for (const auto& [key, value] : options->in_b)
      options->request.settings_of_b.insert(options->request.settings_of_b.end(), {key, value});
    chosen = [options] {
      const DiffResult result = diff(options->request);
      std::cout << (options->json ? json_of(result) : text_of(result, {options->all}));
      return result.changes.empty() ? 0 : 1;
    };
  });
}

}  // namespace lockstep
