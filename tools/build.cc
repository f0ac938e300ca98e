// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

#include "app/files_read.h"
#include "app/model_source.h"
#include "app/unused_auxiliaries.h"
#include "app/written_files.h"
#include "graph/verify.h"
#include "lockstep/model_files.h"
#include "models/step_names.h"
#include "tools/command.h"
#include "tools/config_command.h"

namespace lockstep {

void add_build(CLI::App& app, Command& chosen) {
  struct Options {
    ModelRequest model;
    std::string output = "step.onnx";
    std::optional<std::string> names;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("build", "write a data-parallel training step as ONNX");
  command
      ->add_option("model", options->model.source,
                   "a model's name, a CONFIG.yaml or a network as FILE.onnx")
      ->required();
  auto settings = std::make_shared<KeyWords>(*command);
  command->add_option("--loss", options->model.loss, "FILE.onnx: name of the value to minimise");
  command->add_flag("--forward-only", options->model.forward_only,
                    "the forward pass alone: losses and metrics, no gradients, no updates; a "
                    "FILE.onnx needs no --loss");
  command->add_option("--names", options->names,
                      "another framework's names for the step's nodes and values: keras, of "
                      "resnet50_keras (docs/keras_names.md)");
  command->add_option("-o,--output", options->output, "file to write")->capture_default_str();
  command->footer(
      "Example:  lockstep build lenet --devices 'gpu*8' -o step.onnx\n"
      "          lockstep build net.onnx --loss loss --devices 'cpu*2' -o step.onnx\n"
      "          lockstep build resnet50 --forward-only --devices 'cpu*2' -o forward.onnx\n"
      "The machine need not have the devices. KEY VALUE pairs are keys of a CONFIG.yaml\n"
      "(lockstep keys). With a model's name or FILE.onnx, only keys of the run and of the step\n"
      "are allowed, such as TRAIN.MICRO_BATCHES 2; FILE.onnx also allows MODEL.TRAIN and\n"
      "MODEL.TRAIN_BATCH_NORM.");
  command->callback([options, settings, &chosen] {
    options->model.settings = settings->all();
    chosen = [options] {
      check_output(options->output, [&] { return files_read(options->model); });
      SourcedModel source = model_from(options->model);
      TrainingModel& model = source.model;
      check(model.step.node_count() > 0, options->model.source,
            ": contains a network, but no training step; name the value to minimise with --loss");
      if (options->names)
        model = with_step_names(*options->names, source.network, options->model.source,
                                std::move(model));
      verify(model);
      save_model(model, options->output);
      if (const std::string unused = unused_auxiliaries_note(model); !unused.empty())
        std::cerr << "lockstep: " << unused << "\n";
      for (const std::string& note : source.notes) std::cout << note << "\n";
      std::cout << options->output << ": " << model.replicas
                << (model.replicas == 1 ? " replica, " : " replicas, ") << model.step.node_count()
                << " nodes per step, " << model.states.size() << " state tensors per replica\n";
      return 0;
    };
  });
}

}  // namespace lockstep
