// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <optional>

#include "app/files_read.h"
#include "app/inspect/requests.h"
#include "app/simulate/found_command.h"
#include "app/simulate/simulation.h"
#include "app/written_files.h"
#include "graph/file.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "tools/command.h"
#include "tools/config_command.h"

namespace lockstep {
namespace {

struct SimulateOptions {
  SimulationRequest request;
  std::optional<std::string> out;
  bool json = false, no_search = false;
};

// The files of the model and of the cluster.
std::vector<std::string> files_read(const SimulationRequest& request) {
  std::vector<std::string> files = files_read(request.model);
  files.push_back(request.cluster);
  std::error_code none;
  if (std::filesystem::is_regular_file(request.cluster, none))  // a pipe can be read only once
    files.push_back(read_cluster(request.cluster).profile);
  return files;
}

int run_simulation(const SimulateOptions& options) {
  if (options.out) {
    check(!options.no_search, "-o writes the buckets that the search finds; remove --no-search");
    check_output(*options.out, [&] { return files_read(options.request); });
  }
  SimulationRequest request = options.request;
  request.searches = !options.no_search;
  const Simulation made = simulate(request);
  std::vector<std::string> command;
  if (options.out) {
    check(made.found.has_value(), "-o ", *options.out, ": nothing was searched: ",
          made.cluster.all_devices() > 1 ? "the step sums no gradients"
                                         : "the cluster has one device");
    command = found_command(request.model, made, *options.out);
    write_file(*options.out, bucket_file(made.replica, made.cluster, made.found->best, command));
  }
  if (options.json)
    write_json(std::cout, made);
  else
    std::cout << text_of(made);
  if (options.out && !options.json) {
    std::cout << "wrote " << printable(*options.out) << "; with these buckets\n";
    for (const std::string& line : command) std::cout << "  " << line << "\n";
  }
  return 0;
}

}  // namespace

void add_simulate(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand(
      "simulate", "predict a step on a cluster: its time, a scaling curve, the best options");
  command
      ->add_option("model", options->request.model.source,
                   "FILE.onnx with a step, CONFIG.yaml or a model's name")
      ->required();
  command
      ->add_option("--cluster", options->request.cluster,
                   "FILE.yaml: hosts, devices, links, times of kernels (docs/simulate.md); "
                   "`lockstep doctor --measure-links` writes one")
      ->required();
  auto settings = std::make_shared<KeyWords>(*command);
  command
      ->add_option("--batch", options->request.model.batch,
                   "examples of each replica; default: from the configuration, or 32")
      ->check(CLI::Range(int64_t{1}, kMostExamples));
  command->add_option("--most", options->request.most, "devices at the end of the scaling curve")
      ->check(CLI::Range(1, kMostDevices))
      ->capture_default_str();
  command->add_flag("--each", options->request.each,
                    "simulate every device and every message by itself, too: up to 64 devices");
  command->add_flag("--no-search", options->no_search, "do not search for the best options");
  command->add_option(
      "-o,--output", options->out,
      "file for the best buckets, which `lockstep train --buckets` reads; its first "
      "lines name the other options");
  command->add_flag("--json", options->json,
                    "print the document lockstep.simulation/1 (docs/schemas)");
  command->footer(
      "Example:  lockstep simulate resnet50 --batch 32 --cluster cluster.yaml\n"
      "          lockstep simulate configs/lenet_digits.yaml --cluster cluster.yaml -o best.txt\n"
      "          lockstep simulate step.onnx --cluster cluster.yaml --json\n"
      "KEY VALUE pairs are keys of a CONFIG.yaml (lockstep keys). A step with as many replicas as\n"
      "the cluster has devices is simulated with the waits of its plans; other sizes by one\n"
      "replica, which stands for all.");
  command->callback([options, settings, &chosen] {
    options->request.model.settings = settings->all();
    chosen = [options] { return run_simulation(*options); };
  });
}

}  // namespace lockstep
