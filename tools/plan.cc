// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <charconv>
#include <iostream>
#include <sstream>

#include "app/files_read.h"
#include "app/format.h"
#include "app/inspect/plan_json.h"
#include "app/inspect/requests.h"
#include "app/machine.h"
#include "app/model_source.h"
#include "app/pages/measured_times.h"
#include "app/pages/memory_advice.h"
#include "app/pages/page_link.h"
#include "app/pages/plan_page.h"
#include "app/written_files.h"
#include "graph/auxiliaries.h"
#include "graph/file.h"
#include "graph/limits.h"
#include "graph/printable.h"
#include "lockstep/operators.h"
#include "operators/cuda.h"
#include "runtime/plan/compile.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/step_phases.h"
#include "tools/command.h"
#include "tools/config_command.h"

namespace lockstep {
namespace {

struct PlanOptions {
  ModelRequest model;
  bool inference = false;
  bool why = false;
  std::string format = "text";
  std::string gpu;  // the GPU to plan for, present or not
  // Of the page, --format html.
  std::string output, trace, graph, rates, memory;
};

// The kernels to plan with. Writes to `notes` where their engines come from.
std::vector<KernelTable> kernels_of(const std::string& gpu, const std::vector<Device>& devices,
                                    std::ostream& notes) {
  if (gpu.empty()) return all_kernels();
  check(devices[0].kind == DeviceKind::gpu, "--gpu ", gpu,
        " is for plans for GPUs, but the step runs on ", devices[0], "; add --devices gpu");
  const GpuProperties properties = gpu_named(gpu);
  for (const GpuLibrary& library : gpu_libraries())
    if (library.name == "cuDNN" && !library.found) {
      notes << "engines of convolutions: chosen on a GPU, with their workspaces; for an "
            << properties.name << " cuDNN was not found (" << library.file << ")\n";
      return all_kernels();
    }
  notes << "engines of convolutions: cuDNN's for an " << properties.name << " ("
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

constexpr double kLeastRate = 0.001, kMostRate = 1e9;  // GFLOP/s, GB/s

// Replaces the rates of workers that compute: "80:15", in GFLOP/s and GB/s.
void take_rates(const std::string& text, WorkerRates& rates) {
  const char *at = text.data(), *end = at + text.size();
  double numbers[2] = {0, 0};
  bool good = true, is_within = true;
  for (double& number : numbers) {
    const auto [rest, error] = std::from_chars(at, end, number);
    good = good && (error == std::errc() || error == std::errc::result_out_of_range);
    is_within = is_within && number >= kLeastRate && number <= kMostRate;  // nan is not
    at = rest < end && *rest == ':' && &number == numbers ? rest + 1 : rest;
  }
  check(good && at == end, "--rates '", text,
        "' is not GFLOP/s:GB/s of a worker; write for example 80:15");
  check(is_within, "--rates '", text, "': GFLOP/s and GB/s are from 0.001 to 1e9 each");
  rates.operations = rates.narrow_operations = numbers[0] * 1e9;
  rates.bytes = numbers[1] * 1e9;
}

void take_times(const PlanOptions& options, bool inference, const Plan& plan, PlanPage& page) {
  if (!options.trace.empty()) {
    MeasuredTimes measured =
        measured_times(plan, inference ? RunProgram::prediction : RunProgram::training,
                       read_file(options.trace), options.trace);
    page.is_measured = true;
    page.times = join("Times are measured: ", measured.run, ", the median of ", measured.runs,
                      measured.runs == 1 ? " run" : " runs", " in ",
                      printable(shortened(options.trace)), ".");
    if (measured.left_out > 0)
      page.times += join(" ", measured.left_out, measured.left_out == 1 ? " run has" : " runs have",
                         " another plan, such as another batch.");
    page.timeline = std::move(measured.timeline);
    return;
  }
  PlanRates rates = usual_rates(plan);
  if (!options.rates.empty()) take_rates(options.rates, rates.computes);
  page.timeline = place_steps(plan, predicted_seconds(plan, rates));
  page.times = join("Times are predicted, of each worker: ", text_of(rates.computes));
  for (const Worker& worker : plan.workers)
    if (worker.communicates()) {
      page.times += join("; of communication: ", text_of(rates.communicates));
      break;
    }
  page.times += "; --rates sets others, --trace shows measured times.";
}

void write_plan_page(const PlanOptions& options, const SourcedModel& source, bool inference,
                     const std::vector<KernelTable>& kernels, const Plan& plan,
                     const PlannedMemory& memory) {
  PlanPage page;
  page.title = join("Plan of ", options.model.source, ": ", plan.name, ", ", source.model.replicas,
                    source.model.replicas == 1 ? " replica" : " replicas");
  take_times(options, inference, plan, page);
  page.phases = phases_of(plan, source.model);
  page.memory = memory;
  if (!options.memory.empty()) page.limit = parse_bytes(options.memory, "--memory");
  if (page.limit > 0)
    page.advice =
        memory_advice(options.model, inference, kernels, need_of(plan, memory).bytes, page.limit);
  if (!options.graph.empty()) page.graph = link_between(options.output, options.graph);
  page.command = command_line();
  std::ostringstream text;
  write_page(text, plan, page);
  write_file(options.output, text.str());
  for (const std::string& sentence : sentences_of(plan, page)) std::cout << sentence << "\n";
  for (const std::string& advice : page.advice) std::cout << "would help: " << advice << "\n";
  std::cout << "wrote " << printable(options.output) << "; open it in a browser\n";
}

void check_options(const PlanOptions& options) {
  check(!options.why || options.format == "text",
        "--why is only for --format text; the document has the reasons of every step");
  const bool is_page = options.format == "html";
  check(!is_page || !options.output.empty(), "--format html writes a page; add -o plan.html");
  const auto only_for_page = [&](bool given, const char* option) {
    check(is_page || !given, option, " is only for --format html, not ", options.format);
  };
  only_for_page(!options.output.empty(), "--output");
  only_for_page(!options.trace.empty(), "--trace");
  only_for_page(!options.graph.empty(), "--graph");
  only_for_page(!options.rates.empty(), "--rates");
  only_for_page(!options.memory.empty(), "--memory");
  check(options.rates.empty() || options.trace.empty(),
        "--rates predicts times, but --trace has measured ones; give one of them");
  if (!is_page) return;
  check_output(options.output, [&] {
    std::vector<std::string> files = files_read(options.model);
    for (const std::string& file : {options.trace, options.graph, options.gpu})
      if (!file.empty()) files.push_back(file);
    return files;
  });
}

int print_plan(const PlanOptions& options) {
  check_options(options);
  const SourcedModel source = model_from(options.model);
  const TrainingModel& model = source.model;
  const bool inference = options.inference || model.step.node_count() == 0;
  std::vector<Device> devices = devices_of(source, inference);
  if (!inference) check_devices(model, devices, options.model.source);
  const bool as_json = options.format == "json";
  const std::vector<KernelTable> kernels =
      kernels_of(options.gpu, devices, as_json ? std::cerr : std::cout);
  CompileRequest request = plan_request(source, inference, std::move(devices), kernels);
  // The page shows what a plan for another machine would need.
  if (options.format == "html") request.limits_memory = false;
  const Plan plan = compile(request);
  const PlannedMemory memory = memory_with_loader(source, request, plan);
  if (as_json) {
    write_json(std::cout, plan, memory);
    return 0;
  }
  if (options.format == "html") {
    write_plan_page(options, source, inference, kernels, plan, memory);
    return 0;
  }
  std::cout << text_of(plan) << "predicted memory " << text_of(memory) << "\n";
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
      ->check(CLI::Range(int64_t{1}, kMostExamples));
  command->add_flag("--inference", options->inference,
                    "plan the inference graph instead of the step");
  command->add_option(
      "--gpu", options->gpu,
      "with GPUs as devices: the GPU to choose engines for, which need not be present: "
      "h200, h100, a100, or a file by `lockstep doctor --device-properties`");
  command
      ->add_option("--format", options->format,
                   "text; json: the document lockstep.plan/1 (docs/schemas); html: a page with the "
                   "workers and the memory over time (docs/plan.md)")
      ->check(CLI::IsMember({"text", "json", "html"}))
      ->capture_default_str();
  command->add_flag("--why", options->why,
                    "add a line for each step whose first kernel was refused, with the reason");
  command->add_option("-o,--output", options->output, "html: the page to write");
  command
      ->add_option("--trace", options->trace,
                   "html: a file by `lockstep train --trace` of one process, whose times are shown "
                   "instead of predicted ones")
      ->check(CLI::ExistingFile);
  command
      ->add_option("--graph", options->graph,
                   "html: the page of the graph by `lockstep inspect --format html`, for links "
                   "from steps to nodes")
      ->check(CLI::ExistingFile);
  command->add_option("--memory", options->memory,
                      "html: the memory that there is, such as 16G, of the process or of each GPU; "
                      "if the step needs more, the page says what would help");
  command->add_option(
      "--rates", options->rates,
      "html: GFLOP/s:GB/s of a worker, such as 80:15, for predicted times; from 0.001 "
      "to 1e9 each");
  command->footer(
      "Example:  lockstep plan step.onnx --devices 'cpu*2' --batch 32\n"
      "          lockstep plan configs/lenet_digits.yaml TRAIN.BATCH_SIZE 128\n"
      "          lockstep plan resnet50 --devices 'gpu*8' --gpu h200 --precision bfloat16\n"
      "          lockstep plan step.onnx --format json > plan.json\n"
      "          lockstep plan step.onnx --format html -o plan.html --memory 16G\n"
      "For a CONFIG.yaml, the plan is the one that `lockstep train` runs with the same KEY VALUE\n"
      "pairs. For a model's name or FILE.onnx, it is a plan for one thread per replica, or\n"
      "--threads.");
  command->callback([options, settings, &chosen] {
    options->model.settings = settings->all();
    chosen = [options] { return print_plan(*options); };
  });
}

}  // namespace lockstep
