// SPDX-License-Identifier: Apache-2.0
// lockstep step: training steps of any ONNX model with a graph that computes a loss.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>

#include "app/step/run.h"
#include "app/train/saved_numbers.h"
#include "tools/command.h"
#include "tools/config_command.h"
#include "tools/trace_options.h"

namespace lockstep {

void add_step(CLI::App& app, Command& chosen) {
  auto request = std::make_shared<StepRequest>();
  CLI::App* command = app.add_subcommand("step", "run training steps of any ONNX model");
  command->add_option("network", request->network, "FILE.onnx, whose graph computes the loss")
      ->required();
  command
      ->add_option("--inputs", request->inputs,
                   "folder with NAME.npy, NAME.pb or input_0.pb, .., or a set of arrays: a folder "
                   "or a file (docs/array_files.md)")
      ->required();
  command->add_option("--loss", request->loss, "name of the value to minimise, a scalar")
      ->required();
  command->add_option("--outputs", request->outputs,
                      "folder to write the losses to, and NAME_grad of the last step and the new "
                      "NAME of each parameter");
  command->add_option("-o,--output", request->new_network,
                      "file to write: FILE.onnx with the new values of its initializers");
  command->add_option("--state", request->state,
                      "FILE.safetensors with parameters, momentum and the number of steps: read "
                      "if it exists, to continue, and written after the last step");
  command->add_option("--steps", request->steps, "number of steps")
      ->check(CLI::Range(int64_t{1}, kMostSteps))
      ->capture_default_str();
  command
      ->add_option("--batch", request->batch,
                   "rows of each step, in the order of the arrays and then from their first row "
                   "again; default: all rows")
      ->check(CLI::Range(int64_t{1}, int64_t{std::numeric_limits<int32_t>::max()}));
  command->add_option("--lr", request->rate, "learning rate (SOLVER.BASE_LR); default: 0.01");
  command->add_option("--momentum", request->momentum,
                      "momentum of SGD (SOLVER.MOMENTUM); default: 0.9");
  command->add_option("--weight-decay", request->weight_decay,
                      "weight decay of every parameter (SOLVER.WEIGHT_DECAY); default: 0");
  command->add_option("--seed", request->seed, "seed of dropout (RNG_SEED); default: 1")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  add_trace(*command, request->trace);
  auto settings = std::make_shared<KeyWords>(*command);
  command->footer(
      "Example:  lockstep step model.onnx --inputs in --outputs out --loss loss --lr 0.1\n"
      "          lockstep step model.onnx --inputs data.npz --loss loss --batch 32 --steps 100 \\\n"
      "            SOLVER.TYPE Adam SOLVER.BASE_LR 0.001 --state state.safetensors -o new.onnx\n"
      "KEY VALUE pairs are keys of a CONFIG.yaml (lockstep keys): of the run, of the step, of the\n"
      "optimiser and its rate. By default momentum SGD updates every parameter by the same rule.\n"
      "Running statistics of batch normalisation are updated, too. Buffers, masks and normalisers\n"
      "of an input stay constant: lockstep inspect model.onnx --parameters lists them. A / in a\n"
      "name becomes %2F in the file name. Files are written after the last step.");
  command->callback([request, settings, &chosen] {
    request->settings = settings->all();
    chosen = [request] {
      check_trace_file(request->trace);
      run_steps(*request);
      return 0;
    };
  });
}

}  // namespace lockstep
