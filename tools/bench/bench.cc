// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "graph/error.h"
#include "graph/listed.h"
#include "tools/command.h"

namespace lockstep {
namespace {

// Options that only some benchmarks read.
const std::map<std::string, std::vector<std::string>> kReaders{
    {"--model", {"build-graph", "train-step", "resident"}},
    {"--replicas", {"build-graph"}},
    {"--nodes", {"plan-growth"}},
    {"--megabytes", {"all-reduce"}},
    {"--batch", {"train-step", "resident"}},
    {"--words", {"embedding"}},
    {"--rows", {"resident"}},
    {"--epochs", {"resident"}},
    {"--devices", {"train-step", "resident", "all-reduce", "embedding"}},
    {"--threads", {"train-step", "resident"}},
    {"--precision", {"train-step"}},
    {"--tf32", {"train-step"}},
    {"--exact", {"train-step"}},
    {"--bytes", {"train-step"}},
    {"--feed", {"train-step"}},
    {"--steps", {"train-step"}},
    {"--profile", {"train-step"}}};

void check_readers(const CLI::App& command, const std::string& name) {
  for (const auto& [option, readers] : kReaders)
    check(command.count(option) == 0 || std::ranges::find(readers, name) != readers.end(), option,
          " is only for bench ", listed(readers, " or "), "; ", name, " does not read it");
}

}  // namespace

void add_bench(CLI::App& app, Command& chosen) {
  struct Options {
    std::string name;
    bool json = false;
    TrainStepBench step;
    BuildGraphOptions graph;
    AllReduceBench reduce;
    ResidentBench resident;
    EmbeddingBench embedding;
    int nodes = 100000;
    std::string against;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "run one of the built-in benchmarks");
  command
      ->add_option("name", options->name,
                   "build-graph, plan-growth, train-step, resident, all-reduce, embedding or "
                   "detection-operators")
      ->required()
      ->check(CLI::IsMember({"build-graph", "plan-growth", "train-step", "resident", "all-reduce",
                             "embedding", "detection-operators"}));
  command->add_flag("--json", options->json, "print JSON instead of a table");
  CLI::Option* model = command
                           ->add_option("--model", options->step.model,
                                        "a model's name; train-step and resident have an lstm, too")
                           ->capture_default_str();
  command
      ->add_option("--replicas", options->graph.replicas, "build-graph: largest number of replicas")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--nodes", options->nodes, "plan-growth: largest number of nodes")
      ->capture_default_str()
      ->check(CLI::Range(1000, 1000000));
  command
      ->add_option("--megabytes", options->reduce.megabytes,
                   "all-reduce: size of the tensor of each replica")
      ->capture_default_str();
  CLI::Option* batch = command
                           ->add_option("--batch", options->step.batch,
                                        "train-step: images of a step, over all devices; "
                                        "resident: rows, by default 64")
                           ->capture_default_str()
                           ->check(CLI::Range(int64_t{1}, int64_t{1} << 24));
  command->add_option("--words", options->embedding.words, "embedding: rows of the table")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000'000));
  command->add_option("--rows", options->resident.rows, "resident: rows of the batch")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000'000));
  command->add_option("--epochs", options->resident.epochs, "resident: sweeps over the batch")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  CLI::Option* devices = command
                             ->add_option("--devices", options->step.devices,
                                          "devices, such as 'cpu*2', gpu or 'gpu:0*2'")
                             ->capture_default_str();
  command
      ->add_option("--threads", options->step.threads,
                   "train-step and resident: threads of each replica; 0: an equal share of the "
                   "cores")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--precision", options->step.precision,
                   "train-step: precision: float32, bfloat16 or float16")
      ->capture_default_str();
  command->add_flag(
      "--tf32", options->step.tf32,
      "train-step: let GPUs round float32 operands of matrix products and convolutions to TF32");
  command->add_flag(
      "--exact", options->step.exact,
      "train-step: compute float32 convolutions directly on CPUs, never by Winograd's method, and "
      "fold no batch norm into a convolution");
  command->add_flag("--bytes", options->step.bytes,
                    "train-step: images are bytes, which the step normalises");
  command
      ->add_option("--feed", options->step.feed,
                   "train-step: where the batch is: resident (on the devices), or copied from the "
                   "host: ahead (beside the step before) or in_turn (when the step begins)")
      ->capture_default_str()
      ->check(CLI::IsMember({"resident", "ahead", "in_turn"}));
  command->add_option("--steps", options->step.steps, "train-step: number of timed steps")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_flag("--profile", options->step.profile,
                    "train-step: print the time by operator, of one device also its rates");
  CLI::Option* against =
      command
          ->add_option("--against", options->against,
                       "train-step: take the steps of this file again, which has a line of --json "
                       "for each; fails if one has become slower by more than a tenth")
          ->excludes(model)
          ->excludes(devices);
  command->footer(
      "Example:  lockstep bench train-step --model resnet50 --batch 16 --profile\n"
      "          lockstep bench train-step --against before.json\n"
      "          lockstep launch -n 2 -- lockstep bench all-reduce --devices cpu");
  command->callback([=, &chosen] {
    chosen = [=] {
      check(against->empty() || options->name == "train-step",
            "--against compares train-step, not ", options->name);
      check_readers(*command, options->name);
      const double megabytes = options->reduce.megabytes;
      check(megabytes >= 0.001 && megabytes <= 100000, "--megabytes is ", megabytes,
            ", should be from 0.001 to 100000");
      options->graph.as_json = options->reduce.as_json = options->resident.as_json =
          options->embedding.as_json = options->json;
      if (model->count() > 0) {
        options->graph.model = options->step.model;
        options->resident.networks = {options->step.model};
      }
      if (devices->count() > 0)
        options->reduce.devices = options->resident.devices = options->embedding.devices =
            options->step.devices;
      if (batch->count() > 0) options->resident.batch = options->step.batch;
      options->resident.threads = options->step.threads;
      if (options->name == "build-graph") return bench_build_graph(options->graph);
      if (options->name == "plan-growth") return bench_plan_growth(options->nodes, options->json);
      if (options->name == "detection-operators") return bench_detection_operators(options->json);
      if (options->name == "resident") return bench_resident(options->resident);
      if (options->name == "embedding") return bench_embedding(options->embedding);
      if (options->name == "all-reduce") return bench_all_reduce(options->reduce);
      if (!against->empty()) return bench_against(options->against, options->step);
      return bench_train_step(options->step, options->json);
    };
  });
}

}  // namespace lockstep
