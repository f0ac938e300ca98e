#include "tools/bench/bench.h"

#include <CLI/CLI.hpp>

#include "tools/command.h"

namespace lockstep {

void add_bench(CLI::App& app, Command& chosen) {
  struct Options {
    std::string name;
    bool json = false;
    TrainStepBench step;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "run one of the built-in benchmarks");
  command->add_option("name", options->name, "build-graph or train-step")
      ->required()
      ->check(CLI::IsMember({"build-graph", "train-step"}));
  command->add_flag("--json", options->json, "print JSON instead of a table");
  command->add_option("--model", options->step.model, "train-step: a model's name")
      ->capture_default_str();
  command->add_option("--batch", options->step.batch, "train-step: images over all devices")
      ->capture_default_str();
  command->add_option("--devices", options->step.devices, "train-step: cpu, cpu*2")
      ->capture_default_str();
  command->add_option("--threads", options->step.threads,
                      "train-step: per replica; 0 is an equal share of the cores");
  command->add_option("--steps", options->step.steps, "train-step: how many are timed")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_flag("--profile", options->step.profile,
                    "train-step: where the time goes, by operator");
  command->footer("Example:  lockstep bench train-step --model resnet50 --batch 16 --profile");
  command->callback([options, &chosen] {
    chosen = [options] {
      if (options->name == "build-graph") return bench_build_graph(options->json);
      return bench_train_step(options->step, options->json);
    };
  });
}

}  // namespace lockstep
