// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <sstream>

#include "app/files_read.h"
#include "app/inspect/figures.h"
#include "app/inspect/graph_json.h"
#include "app/inspect/requests.h"
#include "app/inspect/summary.h"
#include "app/machine.h"
#include "app/model_source.h"
#include "app/no_sums.h"
#include "app/pages/graph_page.h"
#include "app/written_files.h"
#include "builders/all_reduce/packing_summary.h"
#include "graph/auxiliaries.h"
#include "graph/dot.h"
#include "graph/file.h"
#include "graph/phases.h"
#include "graph/print.h"
#include "graph/printable.h"
#include "tools/command.h"
#include "tools/config_command.h"

namespace lockstep {

namespace {

// Says if the file has values or only zeros.
std::string state_of(const LoadedModel& source) {
  if (source.model.states.empty()) return "";
  return source.initialised ? "state    as stored in the file\n"
                            : "state    not initialised: zeros; a session computes the initial "
                              "values from the seed\n";
}

// Ends with a summary. Lines with a # are comments when a plan is read back.
std::string buckets_of(const TrainingModel& model) {
  if (!model.bucket_plan.empty()) {
    std::string text = model.bucket_plan;
    for (const std::string& line : packing_summary(model)) text += "# " + line + "\n";
    return text;
  }
  const std::string why = why_no_sums(model);
  return "# no buckets: " + (why.empty() ? "all gradients are summed by rows" : why) + "\n";
}

// Refuses devices that a file's step was not built for.
void check_places(const SourcedModel& source, const std::string& path) {
  const TrainingModel& model = source.model;
  if (model.step.node_count() == 0) return;
  const auto fits = [&](const char* key, const NamedDevices& named, int places, const char* kind) {
    const auto count = static_cast<int>(named.list.size());
    check(count == 0 || count == places, path, ": the step has ", places, " ", kind,
          places == 1 ? "" : "s", ", but ", key, " names ", count, "; name ",
          places > 0 ? join(places, " or ") : "", "none");
  };
  fits("DEVICES", source.run.devices, model.replicas, "replica");
  fits("AUX_DEVICES", source.run.auxiliaries, auxiliaries_of(model), "auxiliary device");
}

struct InspectOptions {
  ModelRequest model;
  std::string format = "summary";
  std::string output, trace;  // of the page
  bool where = false, parameters = false, all = false;
  int depth = kNoDepth;

  static constexpr int kNoDepth = -1;
};

void check_options(const InspectOptions& options) {
  const auto only_for = [&](bool given, const char* option, const char* format) {
    check(!given || options.format == format, option, " is only for --format ", format, ", not ",
          options.format);
  };
  only_for(options.where, "--where", "text");
  only_for(options.all, "--all", "summary");
  only_for(options.depth != InspectOptions::kNoDepth, "--depth", "dot");
  only_for(!options.output.empty(), "--output", "html");
  only_for(!options.trace.empty(), "--trace", "html");
  check(options.format != "html" || !options.output.empty(),
        "--format html writes a page; add -o graph.html");
  check(options.model.loss.empty() || options.parameters, "--loss is only for --parameters");
  check(!options.parameters || options.format == "summary",
        "--parameters has no --format, not even ", options.format);
  if (options.output.empty()) return;
  check_output(options.output, [&] {
    std::vector<std::string> files = files_read(options.model);
    if (!options.trace.empty()) files.push_back(options.trace);
    return files;
  });
}

void write_page_of(const InspectOptions& options, const SourcedModel& source) {
  const TrainingModel& model = source.model;
  const bool inference = model.step.node_count() == 0;
  GraphPage page{.title = "Graph of " + options.model.source, .command = command_line()};
  for (const Device& device : devices_of(source, inference))
    page.devices.push_back(text_of(device));
  if (!options.trace.empty())
    page.times = node_times(read_file(options.trace), options.trace,
                            inference ? RunProgram::prediction : RunProgram::training);
  std::ostringstream text;
  write_graph_page(text, source, figures_of(source), looked_at(source), page);
  write_file(options.output, text.str());
  std::cout << "wrote " << printable(options.output) << ", " << main_graph(model).node_count()
            << " nodes; open it in a browser\n";
}

int print_inspected(const InspectOptions& options) {
  check_options(options);
  if (options.parameters) {
    std::cout << initializers_of(options.model);
    return 0;
  }
  if (options.format == "config") {
    std::cout << configuration_of(options.model);
    return 0;
  }
  const SourcedModel source = model_from(options.model);
  const TrainingModel& model = source.model;
  if (is_onnx(options.model.source)) check_places(source, options.model.source);
  const std::string& format = options.format;
  if (format == "text") {
    std::cout << text_of(model, {options.where});
  } else if (format == "order") {
    std::cout << order_of(model);
  } else if (format == "names") {
    std::cout << names_of(model);
  } else if (format == "buckets") {
    std::cout << buckets_of(model);
  } else if (format == "dot") {
    DotOptions dot;
    if (options.depth != InspectOptions::kNoDepth) dot.depth = options.depth;
    std::cout << dot_of(main_graph(model), dot);
  } else if (format == "html") {
    write_page_of(options, source);
  } else if (format == "json") {
    write_json(std::cout, source, figures_of(source), looked_at(source));
  } else {
    std::cout << summary_of(source, figures_of(source), looked_at(source), options.all)
              << state_of(source);
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command =
      app.add_subcommand("inspect", "print the contents of a model or a training step");
  command->add_option("model", options->model.source, "FILE.onnx, CONFIG.yaml or a model's name")
      ->required();
  command
      ->add_option("--format", options->format,
                   "summary, text, order, names, buckets, dot; html: a page to look at the graph "
                   "with; json: the document lockstep.graph/1; config: a CONFIG.yaml's keys, and "
                   "where each value came from")
      ->check(CLI::IsMember(
          {"summary", "text", "order", "names", "buckets", "dot", "html", "json", "config"}))
      ->capture_default_str();
  auto settings = std::make_shared<KeyWords>(*command);
  command
      ->add_option(
          "--batch", options->model.batch,
          "summary, html, json: examples of each replica; default: from the configuration, "
          "or 32")
      ->check(CLI::Range(int64_t{1}, kMostExamples));
  command->add_flag("--all", options->all,
                    "summary: list every node and every state, not only the twenty largest");
  command
      ->add_option("--depth", options->depth,
                   "with --format dot: fold scopes deeper than this into one box each")
      ->check(CLI::Range(0, 100));
  command->add_option("-o,--output", options->output, "html: the page to write");
  command
      ->add_option("--trace", options->trace,
                   "html: a file by `lockstep train --trace`, for measured times of nodes")
      ->check(CLI::ExistingFile);
  command->add_flag("--where", options->where,
                    "with --format text: print the line of code that added each node");
  command->add_flag("--parameters", options->parameters,
                    "FILE.onnx with a network: list its initializers, which of them are trained, "
                    "and why");
  command->add_option("--loss", options->model.loss,
                      "with --parameters: name of the value to minimise; without it the only "
                      "output of floats");
  command->footer(
      "Example:  lockstep inspect step.onnx --format order\n"
      "          lockstep inspect resnet50 --devices 'cpu*8' --batch 4\n"
      "          lockstep inspect step.onnx --format dot --depth 2 | dot -Tsvg > step.svg\n"
      "          lockstep inspect resnet50 --devices 'cpu*8' --format html -o graph.html\n"
      "          lockstep inspect net.onnx --parameters --freeze 'backbone.*'\n"
      "          lockstep inspect configs/lenet_digits.yaml PACKING ready:1M:25M --format buckets\n"
      "KEY VALUE pairs are keys of a CONFIG.yaml (lockstep keys).");
  command->callback([options, settings, &chosen] {
    options->model.settings = settings->all();
    chosen = [options] { return print_inspected(*options); };
  });
}

}  // namespace lockstep
