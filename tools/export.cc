// SPDX-License-Identifier: Apache-2.0
// lockstep export: a trained network from a run.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "app/model_source.h"
#include "app/onnx/network_file.h"
#include "app/onnx/portable_file.h"
#include "app/task_kind.h"
#include "app/train/chosen_run.h"
#include "app/train/run_folder.h"
#include "app/train/run_place.h"
#include "app/train/trained_network.h"
#include "app/train/weights.h"
#include "app/written_files.h"
#include "graph/flat.h"
#include "graph/printable.h"
#include "lockstep/checkpoint.h"
#include "lockstep/model_files.h"
#include "tools/command.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Files of the run's folder that the export reads, or that the run needs.
std::vector<std::string> files_kept(const std::string& weights, const std::string& step) {
  const std::string folder = fs::path(step).parent_path().string();
  const std::string checkpoint = checkpoint_in(folder);
  std::vector<std::string> files{weights, checkpoint, previous_of(checkpoint),
                                 folder + "/best.safetensors", folder + "/config.yaml"};
  const std::vector<std::string> of_step = files_of_model(step);
  files.insert(files.end(), of_step.begin(), of_step.end());
  return files;
}

// The remedy if a run's newest checkpoint is missing.
std::string offer_for_export(const std::string& folder) {
  const std::string previous = previous_of(checkpoint_in(folder));
  const std::string offer =
      offer_of_previous(folder, "use it with:  lockstep export " + shell_word(previous));
  return !offer.empty()
             ? offer
             : "; a run writes a checkpoint every TRAIN.SNAPSHOT_ITERS iterations and at the end";
}

struct ExportOptions {
  std::string source, weights, image, output = "model.onnx";
  bool portable = false, raw = false, flat = false;
};

struct TrainedNetwork {
  TrainingModel model;  // with values
  RunFiles files;       // `step` is the configuration if there is no run
  std::string config;   // "": unknown
};

TrainedNetwork network_of_run(const ExportOptions& options, const fs::path& source) {
  const bool is_folder = fs::is_directory(source);
  check(is_folder || fs::exists(source), "'", options.source, "' does not exist");
  check(options.weights.empty(), "--weights needs CONFIG.yaml; '", options.source,
        "' has weights already");
  check(!is_onnx(source.string()), "'", options.source,
        "' is already a model; export accepts a run's folder or weights (.safetensors), and a "
        "model "
        "only with --portable");
  const std::string folder = is_folder ? source.string() : source.parent_path().string();
  const std::string weights = is_folder ? checkpoint_in(folder) : source.string();
  check(fs::exists(weights), "'", folder, "' contains no checkpoint.safetensors",
        offer_for_export(folder));
  check_weights(weights);
  const std::string step = step_in(folder.empty() ? "." : folder);
  check_output(options.output, [&] { return files_kept(weights, step); });
  const RunFiles files{weights, step};
  const std::string config = (fs::path(step).parent_path() / "config.yaml").string();
  return {network_with_values(files, options.raw), files, fs::exists(config) ? config : ""};
}

// The task reads the data sets: their classes name the network's outputs.
TrainedNetwork network_of_config(const ExportOptions& options) {
  const std::string& config = options.source;
  check(!options.weights.empty(), config,
        ": name the folder of a run of this configuration, or add --weights FILE.safetensors");
  check(fs::exists(options.weights), "'", options.weights, "' does not exist");
  check_weights(options.weights);
  check_output(options.output, [&] { return std::vector<std::string>{options.weights, config}; });
  const auto task = task_of({config_files(config), {}});
  task->prepare();
  TrainingModel step = std::move(task->steps(1).front());
  for (const auto& [key, value] : task->metadata()) step.metadata[key] = value;
  const RunFiles files{options.weights, config};
  return {network_with_values(step, files, options.raw), files, config};
}

int export_file(const ExportOptions& options) {
  check(options.image.empty() && options.weights.empty(), "--image and --weights do not apply to ",
        options.source, ", a network with values");
  check_output(options.output, [&] { return files_of_model(options.source); });
  const TrainingModel network = portable_network(options.source);
  save_model(network, options.output);
  std::cout << options.output << ": " << network.inference.node_count()
            << " nodes of ONNX's operators\n";
  return 0;
}

int export_flat(const ExportOptions& options) {
  check(is_onnx(options.source),
        "--flat writes the step of a FILE.onnx, which `lockstep build` or "
        "a run makes; '",
        options.source, "' is no FILE.onnx");
  check(!options.portable && !options.raw && options.image.empty() && options.weights.empty(),
        "--flat needs no other option than -o");
  check_output(options.output, [&] { return files_of_model(options.source); });
  const LoadedModel file = read_model(options.source);
  check(file.model.step.node_count() > 0, options.source,
        ": contains a network, but no training step; viewers show its graph as it is");
  save_flat(file.model, options.output, {.values = file.initialised ? &file.values : nullptr});
  std::cout << options.output << ": a training step of " << file.model.step.node_count()
            << " nodes as the main graph"
            << (file.initialised ? "" : "; its states are zeros, as in the file") << "\n";
  return 0;
}

int run_export(const ExportOptions& options) {
  if (options.flat) return export_flat(options);
  const fs::path source = run_meant_by(options.source, say_on_terminal);
  if (options.portable && is_onnx(source.string()) && fs::exists(source))
    return export_file(options);
  auto [model, files, config] =
      is_yaml(options.source) ? network_of_config(options) : network_of_run(options, source);
  const TaskKind& kind = task_kind_of(model);
  check(options.image.empty() || (kind.fit && !config.empty()), "--image does not apply to ",
        kind.fit ? "a run without its config.yaml" : kind.network);
  if (kind.fit && !config.empty()) kind.fit(model, config_files(config), options.image);
  const std::string contents = kind.describe(model, files);
  if (options.portable) model = portable_network(std::move(model), files.step);
  save_model(model, options.output);
  std::cout << options.output << ": " << contents << ", weights from " << files.weights << " "
            << model.metadata.at("trained") << "\n";
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command =
      app.add_subcommand("export", "write the trained network of a run as one ONNX file");
  command
      ->add_option("run", options->source,
                   "a run's folder, or a .safetensors file in it; CONFIG.yaml with --weights; with "
                   "--portable or --flat also FILE.onnx")
      ->required();
  command->add_option("--weights", options->weights,
                      "with CONFIG.yaml: the network's parameters (.safetensors)");
  command->add_flag("--parameters", options->raw,
                    "the parameters themselves, also of a run that tests their averages "
                    "(TRAIN.EMA)");
  command->add_flag("--portable", options->portable,
                    "write the network in ONNX's operators only, for other engines");
  command->add_flag("--flat", options->flat,
                    "FILE.onnx with a training step: write the step as the main graph, for viewers "
                    "that do not show training_info");
  command->add_option("--image", options->image,
                      "detectors: the only size of a padded picture, such as 800x1344; by default "
                      "the network takes pictures of any size");
  command->add_option("-o,--output", options->output, "file to write")->capture_default_str();
  command->footer(
      "Example:  lockstep export runs/latest -o model.onnx\n"
      "          lockstep export runs/latest/best.safetensors -o best.onnx\n"
      "          lockstep export runs/latest --portable -o portable.onnx\n"
      "          lockstep export step.onnx --flat -o flat.onnx\n"
      "          lockstep export CONFIG.yaml --weights weights.safetensors --portable -o "
      "portable.onnx\n"
      "A classifier's file contains only standard operators. The metadata of a classifier and of a "
      "detector\n"
      "describes how to prepare pictures and names the classes.");
  command->callback([options, &chosen] { chosen = [options] { return run_export(*options); }; });
}

}  // namespace lockstep
