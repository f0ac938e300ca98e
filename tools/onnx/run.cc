// SPDX-License-Identifier: Apache-2.0
// lockstep run: inference of any ONNX model.
#include <CLI/CLI.hpp>
#include <iostream>

#include "app/onnx/inference_run.h"
#include "app/onnx/network_file.h"
#include "app/onnx/tensor_files.h"
#include "graph/printable.h"
#include "lockstep/model_files.h"
#include "lockstep/operators.h"
#include "tools/command.h"

namespace lockstep {

void add_run(CLI::App& app, Command& chosen) {
  struct Options {
    std::string model, inputs, outputs;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "run an ONNX model once");
  command->add_option("model", options->model, "FILE.onnx")->required();
  command
      ->add_option("--inputs", options->inputs, "folder with NAME.npy, NAME.pb or input_0.pb, ..")
      ->required();
  command->add_option("--outputs", options->outputs, "folder to write each output to, as NAME.npy")
      ->required();
  command->footer(
      "Example:  lockstep run model.onnx --inputs in --outputs out\n"
      "A / in a name becomes %2F in the file name.");
  command->callback([options, &chosen] {
    chosen = [options] {
      LoadedModel file = read_model(options->model);
      check(!file.model.inference.outputs().empty(), options->model, ": the graph has no outputs");
      Graph& graph = file.model.inference;
      // A training step saved with its values predicts with them.
      for (const State& state : file.model.states)
        if (Value value = graph.find(state.values[0])) {
          check(file.initialised, options->model, ": contains no value of '", state.values[0],
                "', only its shape; train the model first");
          graph.fold(value, file.values.at(state.values[0]));
        }
      std::vector<Literal> outputs =
          run_inference(graph, read_inputs(graph, options->inputs), all_kernels());
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::string& name = graph.name(graph.outputs()[i]);
        write_tensor(options->outputs, name, outputs[i]);
        std::cout << printable(name) << " " << outputs[i].type() << "\n";
      }
      return 0;
    };
  });
}

}  // namespace lockstep
