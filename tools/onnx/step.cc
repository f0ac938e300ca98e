// SPDX-License-Identifier: Apache-2.0
// lockstep step: one training step of any ONNX model with a graph that computes a loss.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>
#include <set>

#include "app/onnx/initializer_notes.h"
#include "app/onnx/network_file.h"
#include "app/onnx/tensor_files.h"
#include "builders/net/trained_initializers.h"
#include "lockstep/data_parallel.h"
#include "lockstep/imported.h"
#include "lockstep/operators.h"
#include "lockstep/optimizers.h"
#include "lockstep/session.h"
#include "runtime/finite.h"
#include "runtime/state/session_members.h"
#include "tools/command.h"

namespace lockstep {
namespace {

struct StepOptions {
  std::string model, inputs, outputs, loss;
  std::string devices = "cpu";
  TrainingPatterns patterns;
  float rate = 0.01F, momentum = 0.9F, weight_decay = 0;
  uint64_t seed = 1;
};

using Literals = std::map<std::string, Literal>;

// The batch's rows, and the inputs with these rows. An input has the rows if its first dimension is
// the batch's symbol, or another symbol of equal size. In a network of fixed sizes, an input has
// the rows if it is as large as the first input.
struct WholeBatch {
  int64_t rows = 0;
  std::set<std::string> inputs;
};

WholeBatch batch_of(const Graph& graph, const Literals& inputs) {
  std::vector<Value> open, fixed;
  for (Value input : graph.inputs())
    if (const Shape& shape = graph.shape(input); !shape.empty())
      (shape[0].known() ? fixed : open).push_back(input);
  const std::vector<Value>& candidates = open.empty() ? fixed : open;
  WholeBatch batch;
  if (candidates.empty()) return batch;
  const auto rows_of = [&](Value input) { return inputs.at(graph.name(input)).dims()[0]; };
  const Value first = candidates[0];
  batch.rows = rows_of(first);
  for (Value input : candidates) {
    const Dim& declared = graph.shape(input)[0];
    check(declared.known() || declared != graph.shape(first)[0] || rows_of(input) == batch.rows,
          "'", graph.name(input), "' has ", rows_of(input), " rows, but '", graph.name(first),
          "' has ", batch.rows, "; both are declared ", Shape{declared});
    if (rows_of(input) == batch.rows) batch.inputs.insert(graph.name(input));
  }
  return batch;
}

// Each input's type for one replica's share. An input without the batch's dimension goes to every
// replica.
std::map<std::string, TensorType> types_of_shares(const Graph& graph, const Literals& inputs,
                                                  int replicas) {
  const WholeBatch batch = batch_of(graph, inputs);
  check(batch.rows > 0 || batch.inputs.empty(), "the batch is empty: an input has no rows");
  check(batch.rows % replicas == 0, "a batch of ", batch.rows, " cannot be split equally over ",
        replicas, " devices");
  std::map<std::string, TensorType> types;
  for (const auto& [name, value] : inputs) {
    Dims dims = value.dims();
    if (batch.inputs.contains(name)) dims[0] /= replicas;
    types[name] = {value.dtype(), to_shape(dims)};
  }
  return types;
}

// All parameters have one rule, as in torch.optim.SGD.
ParamRules rules_of(const StepOptions& options) {
  return {.weight_decay = options.weight_decay,
          .weight_decay_norm = options.weight_decay,
          .bias_rate_factor = 1};
}

Literal copy_of(const Tensor& tensor) {
  Literal copy(tensor.desc.dtype, tensor.desc.dims);
  if (tensor.count() > 0) std::memcpy(copy.bytes().data(), tensor.data, tensor.desc.bytes());
  return copy;
}

// Checks before writing, so that non-finite parameters do not replace good ones.
void check_results(const StepOptions& options, Session& session, const Literals& inputs,
                   std::span<const Tensor> fetched) {
  const TrainingModel& model = session.model();
  std::string fed;
  for (const auto& [name, value] : inputs)
    if (const int64_t place = first_not_finite(view_of(value)); place >= 0 && fed.empty())
      fed = join("; input '", name, "' holds ", text_of_value(view_of(value), place), " at ",
                 text_of_place(value.dims(), place));
  auto check_finite = [&](const std::string& what, const Tensor& tensor) {
    const int64_t place = first_not_finite(tensor);
    if (place >= 0)
      fail(options.model, ": after the step ", what, " is ", text_of_value(tensor, place), " at ",
           text_of_place(tensor.desc.dims, place), fed, "; nothing is written");
  };
  const std::size_t replicas = model.replicas;
  for (std::size_t k = 0; k < replicas; ++k) check_finite("the loss", fetched[k]);
  for (std::size_t i = 0; i < model.gradients.size(); ++i)
    check_finite("the gradient of '" + model.gradients[i].name + "'", fetched[replicas + i]);
  for (const State& state : model.states)
    check_finite("'" + state.name + "'", view_of(states_of(session).read(state.values[0])));
}

void check_numbers(const StepOptions& options) {
  for (auto [name, number] : {std::pair{"--lr", options.rate},
                              {"--momentum", options.momentum},
                              {"--weight-decay", options.weight_decay}})
    check(std::isfinite(number) && number >= 0, name, " is ", number, ", should be 0 or more");
}

void write_results(const StepOptions& options, Session& session, std::span<const Tensor> fetched) {
  const TrainingModel& model = session.model();
  const int replicas = model.replicas;
  double loss = 0;
  for (int k = 0; k < replicas; ++k) loss += *fetched[k].as<float>();
  write_tensor(options.outputs, options.loss, Literal::scalar(static_cast<float>(loss)));
  for (std::size_t i = 0; i < model.gradients.size(); ++i)
    write_tensor(options.outputs, model.gradients[i].name + "_grad",
                 copy_of(fetched[replicas + i]));
  std::size_t computed = 0;
  for (const State& state : model.states) {
    if (is_slot(state.kind)) continue;
    computed += state.kind == StateKind::computed;
    write_tensor(options.outputs, state.name, states_of(session).read(state.values[0]));
  }
  std::cout << options.loss << " = " << loss << "; " << model.gradients.size()
            << (model.gradients.size() == 1 ? " parameter" : " parameters") << " updated, "
            << computed << " running statistics, on " << replicas
            << (replicas == 1 ? " replica\n" : " replicas\n");
}

// Prints which initializers are trained.
TrainingModel step_for(const StepOptions& options, const std::shared_ptr<const LoadedModel>& file,
                       const std::vector<Device>& devices) try {
  const InitializerChoices choices =
      choose_some_initializers(*file, options.loss, options.patterns);
  ImportedOptions imported;
  imported.train_batch_norm = options.patterns.batch_norms;
  imported.trainable = choices.trained();
  for (const std::string& note : notes_on(*file, choices)) std::cout << note << "\n";
  return build_data_parallel_model(all_ops(), imported_model(file, options.loss, imported),
                                   MomentumSgd{.momentum = options.momentum},
                                   {.replicas = static_cast<int>(devices.size()),
                                    .scope = std::string(devices[0].info().text),
                                    .rules = rules_of(options)});
} catch (const Error& error) {
  rethrow_as(error, options.model, ", --loss ", options.loss, ": ", error);
}

int run_step(const StepOptions& options) {
  check(!options.loss.empty(), "--loss is empty; name the value to minimise");
  check_numbers(options);
  std::map<std::string, TensorType> declared;
  LoadedModel network = load_network(options.model, &declared);
  const Literals inputs = read_inputs(network.model.inference, options.inputs, declared);
  const std::vector<Device> devices = parse_devices(options.devices);
  const auto types =
      types_of_shares(network.model.inference, inputs, static_cast<int>(devices.size()));
  TrainingModel model = step_for(options, specialised(std::move(network), types), devices);
  Session session(model, devices, all_kernels(), {.seed = options.seed});
  session.initialise();
  Feeds feeds(model);
  feeds.set(Role::rate, options.rate);
  for (const StepInput& input : model.inputs)
    if (input.role == Role::data) feeds.set(input.name, view_of(inputs.at(input.name)));
  std::vector<std::string> fetches;
  for (const std::string& name : model.losses[0].values) fetches.push_back(name);
  for (const Replicated& gradient : model.gradients) fetches.push_back(gradient.values[0]);
  auto program = session.program(model.step, model.feed_values(), fetches, model.updates);
  const std::span<const Tensor> fetched = program->run(feeds.tensors(), session.run_options(0));
  check_results(options, session, inputs, fetched);
  write_results(options, session, fetched);
  return 0;
}

}  // namespace

void add_step(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<StepOptions>();
  CLI::App* command = app.add_subcommand("step", "run one training step of any ONNX model");
  command->add_option("model", options->model, "FILE.onnx, whose graph computes the loss")
      ->required();
  command
      ->add_option("--inputs", options->inputs, "folder with NAME.npy, NAME.pb or input_0.pb, ..")
      ->required();
  command
      ->add_option("--outputs", options->outputs,
                   "folder to write the loss to, and NAME_grad and the new NAME of each parameter")
      ->required();
  command->add_option("--loss", options->loss, "name of the value to minimise, a scalar")
      ->required();
  command->add_option("--lr", options->rate, "learning rate")->capture_default_str();
  command->add_option("--momentum", options->momentum, "momentum of SGD")->capture_default_str();
  command->add_option("--weight-decay", options->weight_decay, "weight decay of every parameter")
      ->capture_default_str();
  command->add_option("--freeze", options->patterns.frozen,
                      "parameters that are not trained; names with * and ?");
  command->add_option("--train", options->patterns.trained,
                      "initializers that are trained although they would stay constant, also if "
                      "--freeze names them; names with * and ?");
  command->add_flag("--train-batch-norm{*}", options->patterns.batch_norms,
                    "train batch norms even where the file says training_mode 0: all, or "
                    "--train-batch-norm=PATTERN, which matches the name of the node, of its scale "
                    "or of its running mean");
  command
      ->add_option("--devices", options->devices,
                   "devices that share the batch, such as 'cpu*2' or cpu:0,cpu:1")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "seed of dropout")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->capture_default_str();
  command->footer(
      "Example:  lockstep step model.onnx --inputs in --outputs out --loss loss --lr 0.1\n"
      "Momentum SGD updates every parameter by the same rule, and running statistics of batch\n"
      "normalisation are updated, too. Buffers, masks and normalisers of an input stay constant:\n"
      "lockstep inspect model.onnx --parameters lists them. A / in a name becomes %2F in the\n"
      "file name.");
  command->callback([options, &chosen] { chosen = [options] { return run_step(*options); }; });
}

}  // namespace lockstep
