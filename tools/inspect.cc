// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>

#include "app/model_source.h"
#include "app/no_sums.h"
#include "builders/all_reduce/packing_summary.h"
#include "graph/auxiliaries.h"
#include "graph/print.h"
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

// Lines with a # are comments when a plan is read back.
std::string buckets_of(const TrainingModel& model) {
  std::string text;
  for (const std::string& line : packing_summary(model)) text += "# " + line + "\n";
  if (!model.bucket_plan.empty()) return text + model.bucket_plan;
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

}  // namespace

void add_inspect(CLI::App& app, Command& chosen) {
  struct Options {
    ModelRequest model;
    std::string format = "summary";
    bool where = false, parameters = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "print the contents of a model or a training step");
  command->add_option("model", options->model.source, "FILE.onnx, CONFIG.yaml or a model's name")
      ->required();
  command
      ->add_option("--format", options->format,
                   "summary, text, order, names, buckets or dot; config: a CONFIG.yaml's keys, and "
                   "where each value came from")
      ->check(CLI::IsMember({"summary", "text", "order", "names", "buckets", "dot", "config"}))
      ->capture_default_str();
  auto settings = std::make_shared<KeyWords>(*command);
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
      "          lockstep inspect net.onnx --parameters --freeze 'backbone.*'\n"
      "          lockstep inspect configs/lenet_digits.yaml PACKING ready:1M:25M --format buckets\n"
      "KEY VALUE pairs are keys of a CONFIG.yaml (lockstep keys).");
  command->callback([options, settings, &chosen] {
    options->model.settings = settings->all();
    chosen = [options] {
      check(!options->where || options->format == "text", "--where is only for --format text, not ",
            options->format);
      check(options->model.loss.empty() || options->parameters, "--loss is only for --parameters");
      if (options->parameters) {
        check(options->format == "summary", "--parameters has no --format, not even ",
              options->format);
        std::cout << initializers_of(options->model);
        return 0;
      }
      if (options->format == "config") {
        std::cout << configuration_of(options->model);
        return 0;
      }
      const SourcedModel source = model_from(options->model);
      const TrainingModel& model = source.model;
      if (is_onnx(options->model.source)) check_places(source, options->model.source);
      if (options->format == "text")
        std::cout << text_of(model, {options->where});
      else if (options->format == "order")
        std::cout << order_of(model);
      else if (options->format == "names")
        std::cout << names_of(model);
      else if (options->format == "buckets")
        std::cout << buckets_of(model);
      else if (options->format == "dot")
        std::cout << dot_of(model.step.node_count() > 0 ? model.step : model.inference);
      else
        std::cout << summary_of(model) << state_of(source);
      return 0;
    };
  });
}

}  // namespace lockstep
