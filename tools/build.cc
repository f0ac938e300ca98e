#include <CLI/CLI.hpp>
#include <iostream>

#include "graph/io.h"
#include "graph/verify.h"
#include "tools/command.h"
#include "tools/model_source.h"

namespace lockstep {

void add_build(CLI::App& app, Command& chosen) {
  struct Options {
    ModelRequest model;
    std::string output = "step.onnx";
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("build", "write a data-parallel training step as ONNX");
  command
      ->add_option("model", options->model.source,
                   "a model's name, a CONFIG.yaml or a network as FILE.onnx")
      ->required();
  command->add_option("--devices", options->model.devices,
                      "one replica per device: 'cpu*2', 'gpu*8', gpu:0,gpu:2");
  command->add_option("--all-reduce", options->model.all_reduce,
                      "how gradients are summed: collective, xring#2, pscpu:32k:rechd, ..");
  command->add_option("--ring-order", options->model.ring_order,
                      "xring: replicas of a process in order of the ring: 0,2,1,3");
  command->add_option("--wire", options->model.wire,
                      "gradients travel as float16 or bfloat16; they are summed as float32");
  command->add_option("--precision", options->model.precision,
                      "of the forward and backward pass: float32, bfloat16 or float16");
  command->add_option("--topology", options->model.topology,
                      "what --all-reduce auto goes by: latency:bandwidth within a host and, behind "
                      "a /, across: 2us:10G/30us:1.2G");
  command->add_option(
      "--packing", options->model.packing,
      "gradients that are summed together: none, ready:1M:25M, ray:10M, tf_cnn:4k:10");
  command->add_option("--buckets", options->model.buckets,
                      "a file with buckets, as inspect --format buckets prints them");
  command->add_option("--loss", options->model.loss, "FILE.onnx: the value to minimise");
  command->add_flag("--train-batch-norm", options->model.train_batch_norm,
                    "FILE.onnx: also where its statistics are given (training_mode 0)");
  command->add_option("-o,--output", options->output, "file to write")->capture_default_str();
  command->footer(
      "Example:  lockstep build lenet --devices 'gpu*8' -o step.onnx\n"
      "          lockstep build net.onnx --loss loss --devices 'cpu*2' -o step.onnx\n"
      "Building needs none of the devices it names.");
  command->callback([options, &chosen] {
    chosen = [options] {
      TrainingModel model = model_from(options->model).model;
      verify(model);
      save_model(model, options->output);
      std::cout << options->output << ": " << model.replicas
                << (model.replicas == 1 ? " replica, " : " replicas, ") << model.step.node_count()
                << " nodes a step, " << model.states.size() << " states each\n";
      return 0;
    };
  });
}

}  // namespace lockstep
