#include "runtime/plan/plan.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <set>

#include "operators/all.h"
#include "runtime/plan/compile.h"
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
  bool why = false;
};

// The declared shape with every symbol replaced by the batch size.
Dims fed_dims(const Graph& graph, Value input, int64_t batch) {
  Dims dims;
  for (const Dim& dim : graph.shape(input)) dims.push_back(dim.known() ? dim.size() : batch);
  return dims;
}

// Prediction as a session runs it: fed with what is no state.
CompileRequest inference_request(const TrainingModel& model, std::vector<Device> devices) {
  CompileRequest request{model.inference,    {},           {}, {}, model.state_values(), {},
                         std::move(devices), all_kernels()};
  const std::set<std::string> states(request.states.begin(), request.states.end());
  for (Value input : model.inference.inputs()) {
    const std::string& name = model.inference.name(input);
    if (states.count(name) == 0) request.feeds.push_back(name);
  }
  for (Value output : model.inference.outputs())
    request.fetches.push_back(model.inference.name(output));
  return request;
}

int print_plan(const PlanOptions& options) {
  const TrainingModel model = model_from(options.model).model;
  const bool inference = options.inference || model.step.node_count() == 0;
  const Graph& graph = inference ? model.inference : model.step;
  auto dims = [&](const std::string& feed) {
    return fed_dims(graph, graph.at(feed), options.batch);
  };
  std::vector<Device> devices = options.model.devices.empty()
                                    ? cpu_devices(inference ? 1 : model.replicas)
                                    : parse_devices(options.model.devices);
  CompileRequest request = inference ? inference_request(model, std::move(devices))
                                     : step_request(model, dims, std::move(devices), all_kernels());
  if (inference)
    for (const std::string& feed : request.feeds) request.feed_dims.push_back(dims(feed));
  request.options.threads = options.threads;
  request.options.tf32 = options.tf32;
  const Plan plan = compile(request);
  std::cout << text_of(plan);
  if (options.why) std::cout << reasons_of(plan);
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command =
      app.add_subcommand("plan", "print how a step will run: kernels, memory, waits");
  command->add_option("model", options->model.source, "FILE.onnx, CONFIG.yaml or a model's name")
      ->required();
  command->add_option("--devices", options->model.devices, "one per replica: 'cpu*2'");
  command->add_option("--batch", options->batch, "images per replica")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--threads", options->threads, "threads per replica")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--inference", options->inference, "the prediction graph instead of the step");
  command->add_flag("--tf32", options->tf32,
                    "GPUs may round what products take of float32 to 10 bits");
  command->add_flag("--why", options->why,
                    "add a line for each step whose first kernel was refused, with the reason");
  command->footer("Example:  lockstep plan step.onnx --devices 'cpu*2' --batch 32");
  command->callback([options, &chosen] { chosen = [options] { return print_plan(*options); }; });
}

}  // namespace lockstep
