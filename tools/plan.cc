#include "runtime/plan.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "operators/all.h"
#include "runtime/compile.h"
#include "tools/command.h"
#include "tools/model_source.h"

namespace lockstep {
namespace {

struct PlanOptions {
  ModelRequest model;
  int64_t batch = 32;  // per replica
  int threads = 1;
  bool inference = false;
  bool tf32 = false;
};

// The declared shape with every symbol replaced by the batch size.
Dims fed_dims(const Graph& graph, Value input, int64_t batch) {
  Dims dims;
  for (const Dim& dim : graph.shape(input)) dims.push_back(dim.known() ? dim.size() : batch);
  return dims;
}

int print_plan(const PlanOptions& options) {
  TrainingModel model = model_from(options.model);
  const bool inference = options.inference || model.step.node_count() == 0;
  const Graph& graph = inference ? model.inference : model.step;
  std::vector<std::string> states = model.state_values();
  std::vector<std::string> feeds, fetches;
  std::vector<Dims> dims;
  for (Value input : graph.inputs()) {
    if (std::find(states.begin(), states.end(), graph.name(input)) != states.end()) continue;
    feeds.push_back(graph.name(input));
    dims.push_back(fed_dims(graph, input, options.batch));
  }
  for (const auto* items : {&model.losses, &model.metrics})
    for (const Replicated& item : *items)
      if (!inference) fetches.insert(fetches.end(), item.values.begin(), item.values.end());
  if (inference)
    for (Value output : graph.outputs()) fetches.push_back(graph.name(output));
  std::vector<Device> devices = options.model.devices.empty()
                                    ? cpu_devices(inference ? 1 : model.replicas)
                                    : parse_devices(options.model.devices);
  std::cout << text_of(compile({graph,
                                feeds,
                                dims,
                                fetches,
                                states,
                                inference ? std::vector<Binding>{} : model.updates,
                                devices,
                                all_kernels(),
                                {.threads = options.threads, .tf32 = options.tf32}}));
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command =
      app.add_subcommand("plan", "print how a step will run: kernels, memory, waits");
  command->add_option("model", options->model.source, "FILE.onnx, CONFIG.yaml or a model's name")
      ->required();
  command->add_option("--devices", options->model.devices, "one per replica: cpu*2");
  command->add_option("--batch", options->batch, "images per replica")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--threads", options->threads, "threads per replica")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--inference", options->inference, "the prediction graph instead of the step");
  command->add_flag("--tf32", options->tf32,
                    "GPUs may round what products take of float32 to 10 bits");
  command->footer("Example:  lockstep plan step.onnx --devices cpu*2 --batch 32");
  command->callback([options, &chosen] { chosen = [options] { return print_plan(*options); }; });
}

}  // namespace lockstep
