// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/plan.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <set>

#include "app/model_source.h"
#include "graph/auxiliaries.h"
#include "lockstep/operators.h"
#include "operators/cuda.h"
#include "runtime/plan/compile.h"
#include "runtime/threads/cores.h"
#include "tools/command.h"
#include "tools/config_command.h"

namespace lockstep {
namespace {

constexpr int64_t kMostOfABatch = 1 << 24;

struct PlanOptions {
  ModelRequest model;
  bool inference = false;
  bool why = false;
  std::string gpu;  // the GPU to plan for, present or not
};

// The declared shape with every symbol replaced by the batch size.
Dims fed_dims(const Graph& graph, Value input, int64_t batch) {
  Dims dims;
  for (const Dim& dim : graph.shape(input)) dims.push_back(dim.known() ? dim.size() : batch);
  return dims;
}

// The rows of the batch for each input of each replica.
std::map<std::string, int64_t> rows_of_feeds(const SourcedModel& source) {
  std::map<std::string, int64_t> rows;
  for (const StepInput& input : source.model.inputs)
    for (std::size_t k = 0; k < input.values.size(); ++k)
      rows[input.values[k]] = source.shares.rows(static_cast<int64_t>(k), input.part).count;
  return rows;
}

// Prediction as a session runs it: all inputs but states are feeds.
CompileRequest inference_request(const TrainingModel& model, std::vector<Device> devices,
                                 const std::vector<KernelTable>& kernels) {
  CompileRequest request{.graph = model.inference,
                         .states = model.state_values(),
                         .devices = std::move(devices),
                         .kernels = kernels};
  const std::set<std::string> states(request.states.begin(), request.states.end());
  for (Value input : model.inference.inputs()) {
    const std::string& name = model.inference.name(input);
    if (states.count(name) == 0) request.feeds.push_back(name);
  }
  for (Value output : model.inference.outputs())
    request.fetches.push_back(model.inference.name(output));
  return request;
}

CompileRequest step_request_of(const SourcedModel& source, std::vector<Device> devices,
                               const std::vector<KernelTable>& kernels) {
  check(!source.shares.leave_nothing(),
        "--batch is too small: there are no images for some of the ", source.shares.parts,
        " parts of a replica's share");
  const std::map<std::string, int64_t> rows = rows_of_feeds(source);
  const Graph& graph = source.model.step;
  const auto dims = [&](const std::string& feed) {
    return fed_dims(graph, graph.at(feed), rows.at(feed));
  };
  return step_request(source.model, dims, std::move(devices), kernels);
}

// The kernels to plan with. Prints where their engines come from.
std::vector<KernelTable> kernels_of(const std::string& gpu, const std::vector<Device>& devices) {
  if (gpu.empty()) return all_kernels();
  check(devices[0].kind == DeviceKind::gpu, "--gpu ", gpu,
        " is for plans for GPUs, but the step runs on ", devices[0], "; add --devices gpu");
  const GpuProperties properties = gpu_named(gpu);
  for (const GpuLibrary& library : gpu_libraries())
    if (library.name == "cuDNN" && !library.found) {
      std::cout << "engines of convolutions: chosen on a GPU, with their workspaces; for an "
                << properties.name << " cuDNN was not found (" << library.file << ")\n";
      return all_kernels();
    }
  std::cout << "engines of convolutions: cuDNN's for an " << properties.name << " ("
            << properties.source << "); workspaces of engines compiled at run time are not known\n";
  return kernels_planned_for(properties);
}

// Refuses a list of devices that is longer or shorter than the step's list.
void check_devices(const TrainingModel& model, const std::vector<Device>& devices,
                   const std::string& source) {
  const int places = places_of(model), auxiliaries = places - model.replicas;
  const std::string kind = join(devices[0].info().text, "*");
  check(static_cast<int>(devices.size()) == places, source, " has ", model.replicas,
        model.replicas == 1 ? " replica" : " replicas",
        auxiliaries > 0 ? join(" and ", auxiliaries, " auxiliary devices (--aux-devices)") : "",
        ", but there ",
        devices.size() == 1 ? "is 1 device" : join("are ", devices.size(), " devices"),
        "; use --devices ", kind, model.replicas,
        auxiliaries > 0 ? join(" --aux-devices ", kind, auxiliaries) : "");
}

int print_plan(const PlanOptions& options) {
  const SourcedModel source = model_from(options.model);
  const TrainingModel& model = source.model;
  const bool inference = options.inference || model.step.node_count() == 0;
  std::vector<Device> devices = all_devices(source.run);
  if (devices.empty()) devices = cpu_devices(places_of(model));
  const int threads = source.run.threads > 0
                          ? source.run.threads
                          : threads_per_replica(static_cast<int>(devices.size()));
  if (!inference) check_devices(model, devices, options.model.source);
  if (inference) devices.resize(1);  // replica 0's device
  const std::vector<KernelTable> kernels = kernels_of(options.gpu, devices);
  CompileRequest request = inference ? inference_request(model, std::move(devices), kernels)
                                     : step_request_of(source, std::move(devices), kernels);
  if (inference) {
    const Graph& graph = model.inference;
    const int64_t rows = source.shares.batch / source.shares.replicas;
    for (const std::string& feed : request.feeds)
      request.feed_dims.push_back(fed_dims(graph, graph.at(feed), rows));
  }
  request.options.threads = threads;
  request.options.tf32 = source.run.tf32;
  request.options.exact = source.run.exact;
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
  auto settings = std::make_shared<KeyWords>(*command);
  command
      ->add_option("--batch", options->model.batch,
                   "images of each replica; default: from the configuration, or 32")
      ->check(CLI::Range(int64_t{1}, kMostOfABatch));
  command->add_flag("--inference", options->inference,
                    "plan the inference graph instead of the step");
  command->add_option(
      "--gpu", options->gpu,
      "with GPUs as devices: the GPU to choose engines for, which need not be present: "
      "h200, h100, a100, or a file by `lockstep doctor --device-properties`");
  command->add_flag("--why", options->why,
                    "add a line for each step whose first kernel was refused, with the reason");
  command->footer(
      "Example:  lockstep plan step.onnx --devices 'cpu*2' --batch 32\n"
      "          lockstep plan configs/lenet_digits.yaml TRAIN.BATCH_SIZE 128\n"
      "          lockstep plan resnet50 --devices 'gpu*8' --gpu h200 --precision bfloat16\n"
      "For a CONFIG.yaml, the plan is the one that `lockstep train` runs with the same KEY VALUE\n"
      "pairs. For a model's name or FILE.onnx, it is a plan for one thread per replica, or\n"
      "--threads.");
  command->callback([options, settings, &chosen] {
    options->model.settings = settings->all();
    chosen = [options] { return print_plan(*options); };
  });
}

}  // namespace lockstep
