// SPDX-License-Identifier: Apache-2.0
// lockstep export: a trained network from a run.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "app/onnx/portable_file.h"
#include "app/task_kind.h"
#include "app/train/chosen_run.h"
#include "app/train/run_folder.h"
#include "app/train/run_place.h"
#include "app/train/trained_network.h"
#include "app/train/weights.h"
#include "app/written_files.h"
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

}  // namespace

void add_export(CLI::App& app, Command& chosen) {
  struct Options {
    std::string source, output = "model.onnx";
    bool portable = false, raw = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("export", "write the trained network of a run as one ONNX file");
  command
      ->add_option("run", options->source,
                   "a run's folder, or a .safetensors file in it; with --portable also FILE.onnx")
      ->required();
  command->add_flag("--parameters", options->raw,
                    "the parameters themselves, also of a run that tests their averages "
                    "(TRAIN.EMA)");
  command->add_flag("--portable", options->portable,
                    "write the network in ONNX's operators only, for other engines");
  command->add_option("-o,--output", options->output, "file to write")->capture_default_str();
  command->footer(
      "Example:  lockstep export runs/latest -o model.onnx\n"
      "          lockstep export runs/latest/best.safetensors -o best.onnx\n"
      "          lockstep export runs/latest --portable -o portable.onnx\n"
      "A classifier's file contains only standard operators. Its metadata describes how to prepare "
      "pictures\n"
      "and names the classes.");
  command->callback([options, &chosen] {
    chosen = [options] {
      const fs::path source = run_meant_by(options->source, say_on_terminal);
      const bool is_folder = fs::is_directory(source);
      check(is_folder || fs::exists(source), "'", options->source, "' does not exist");
      if (options->portable && source.extension() == ".onnx") {
        check_output(options->output, [&] { return files_of_model(source.string()); });
        const TrainingModel network = portable_network(options->source);
        save_model(network, options->output);
        std::cout << options->output << ": " << network.inference.node_count()
                  << " nodes of ONNX's operators\n";
        return 0;
      }
      const std::string folder = is_folder ? source.string() : source.parent_path().string();
      const std::string weights = is_folder ? checkpoint_in(folder) : source.string();
      check(source.extension() != ".onnx", "'", options->source,
            "' is already a model; export accepts a run's folder or weights (.safetensors), and a "
            "model "
            "only with --portable");
      check(fs::exists(weights), "'", folder, "' contains no checkpoint.safetensors",
            offer_for_export(folder));
      check_weights(weights);
      const std::string step = step_in(folder.empty() ? "." : folder);
      check_output(options->output, [&] { return files_kept(weights, step); });
      const RunFiles files{weights, step};
      TrainingModel model = network_with_values(files, options->raw);
      const std::string contents = task_kind_of(model).describe(model, files);
      if (options->portable) model = portable_network(std::move(model), step);
      save_model(model, options->output);
      std::cout << options->output << ": " << contents << ", weights from " << weights << " "
                << model.metadata.at("trained") << "\n";
      return 0;
    };
  });
}

}  // namespace lockstep
