// lockstep export: a trained network from a run.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "graph/io.h"
#include "tools/command.h"
#include "tools/onnx/portable_file.h"
#include "tools/predict/trained_network.h"
#include "tools/text/network.h"
#include "tools/train/run_folder.h"
#include "tools/train/weights.h"

namespace lockstep {

void add_export(CLI::App& app, Command& chosen) {
  struct Options {
    std::string source, output = "model.onnx";
    bool portable = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("export", "write the trained network of a run as one ONNX file");
  command
      ->add_option("run", options->source,
                   "a run's folder, or a .safetensors file in it; with --portable also FILE.onnx")
      ->required();
  command->add_flag("--portable", options->portable,
                    "write a model's network in ONNX's operators only, for other engines");
  command->add_option("-o,--output", options->output, "file to write")->capture_default_str();
  command->footer(
      "Example:  lockstep export runs/latest -o model.onnx\n"
      "          lockstep export runs/latest/best.safetensors -o best.onnx\n"
      "          lockstep export detector.onnx --portable -o model.onnx\n"
      "A classifier's file contains only standard operators. Its metadata describes how to prepare "
      "pictures\n"
      "and names the classes.");
  command->callback([options, &chosen] {
    chosen = [options] {
      const std::filesystem::path source(options->source);
      const bool is_folder = std::filesystem::is_directory(source);
      check(is_folder || std::filesystem::exists(source), "'", options->source, "' does not exist");
      if (options->portable && source.extension() == ".onnx") {
        const TrainingModel network = portable_network(options->source);
        save_model(network, options->output);
        std::cout << options->output << ": " << network.inference.node_count()
                  << " nodes of ONNX's operators\n";
        return 0;
      }
      const std::string folder = is_folder ? source.string() : source.parent_path().string();
      const std::string weights = is_folder ? checkpoint_in(folder) : source.string();
      check(source.extension() != ".onnx", "'", options->source,
            "' is already a model; export takes a run's folder or weights (.safetensors), and a "
            "model "
            "only with --portable");
      check(std::filesystem::exists(weights), "'", folder,
            "' contains no checkpoint.safetensors; a run writes one every TRAIN.SNAPSHOT_ITERS "
            "iterations and at the end");
      check_weights(weights);
      const std::string step = step_in(folder.empty() ? "." : folder);
      TrainingModel model = network_with_values(weights, step);
      if (model.metadata.count("vocabulary")) {
        save_model(model, options->output);
        std::cout << options->output << ": " << vocabulary_in(model, step).size()
                  << " characters, weights from " << weights << " " << model.metadata.at("trained")
                  << "\n";
        return 0;
      }
      const TrainedNetwork network = classifier_of(std::move(model), weights, step);
      save_trained(network, options->output);
      std::cout << options->output << ": " << network.classes.size() << " classes, takes "
                << network.model.inference.type(network.model.inference.inputs()[0])
                << ", weights from " << weights << " " << network.model.metadata.at("trained")
                << "\n";
      return 0;
    };
  });
}

}  // namespace lockstep
