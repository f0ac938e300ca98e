// SPDX-License-Identifier: Apache-2.0
// lockstep weights: the tensors of a weights file, and their places in a network.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <regex>

#include "app/model_source.h"
#include "app/task_kind.h"
#include "app/weights/match.h"
#include "app/weights/pattern.h"
#include "app/weights/translate.h"
#include "app/written_files.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "tools/command.h"
#include "tools/config_command.h"

namespace lockstep {
namespace {

struct WeightsCommand {
  std::string file, config, output;
  std::vector<std::string> words;
};

// The source with the facts that matter for these tensors.
WeightsSource source_of_tensors(WeightsSource source, const StateValues& values) {
  std::erase_if(source.facts, [&](const SourceFact& fact) {
    const std::regex pattern(fact.applies_to);
    return std::none_of(values.begin(), values.end(),
                        [&](const auto& tensor) { return fits_pattern(tensor.first, pattern); });
  });
  return source;
}

void print_source(const std::string& path, const WeightsSource& source, std::size_t tensors) {
  std::cout << printable(path) << ": " << tensors << " tensors, " << source.name << "\n";
  if (!source.refusal.empty()) std::cout << "  detectors refuse it: " << source.refusal << "\n";
  if (!source.pixel_means.empty())
    std::cout << "  PIXEL_MEANS " << text_of_means(source.pixel_means) << "\n";
  for (const SourceFact& fact : source.facts)
    std::cout << "  " << fact.key << " " << printable(fact.value) << "\n";
}

// The facts go along, so that a written file says as much as its source.
void write_translated(const std::string& path, const StateValues& values,
                      const WeightsSource& source) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& [name, value] : values) tensors.emplace_back(name, view_of(value));
  std::map<std::string, std::string> metadata{{kFormatKey, "lockstep weights 2"}};
  if (!source.pixel_means.empty())
    metadata.emplace("PIXEL_MEANS", text_of_means(source.pixel_means));
  for (const SourceFact& fact : source.facts) metadata.emplace(fact.key, fact.value);
  write_safetensors(path, tensors, metadata);
}

// Without a configuration: the names that a detector would use.
int list_file(const WeightsCommand& command, Safetensors file) {
  WeightsSource source = source_of(contents_of(file));
  const std::size_t count = file.tensors.size();
  const bool can_translate = source.refusal.empty() && source.picture.has_value();
  const TranslatedWeights found = translated(std::move(file.tensors), source,
                                             {.path = command.file, .for_detector = can_translate});
  source = source_of_tensors(std::move(source), found.tensors);
  print_source(command.file, source, count);
  for (const auto& [name, value] : found.tensors) {
    const auto before = found.from.find(name);
    std::cout << printable(name) << "  " << value.type();
    if (before != found.from.end()) std::cout << "  from " << printable(before->second);
    std::cout << "\n";
  }
  if (!found.folded.empty())
    std::cout << found.folded.size() << " more are folded into these or have no use\n";
  if (!command.output.empty()) write_translated(command.output, found.tensors, source);
  return 0;
}

void print_line(const WeightLine& line) {
  std::cout << line.name << "  ";
  switch (line.fate) {
    case WeightFate::matched:
      std::cout << (line.from == line.name ? "as in the file" : "from " + printable(line.from));
      break;
    case WeightFate::begins_anew:
      std::cout << "renewed: " << line.why;
      break;
    case WeightFate::misfit:
      std::cout << "does not fit: " << line.why;
      break;
    case WeightFate::missing:
      std::cout << "not in the file: its initial value stays";
      break;
  }
  std::cout << "\n";
}

int try_file(const WeightsCommand& command, Safetensors file) {
  const ConfigFiles files = config_files(command.config);
  const TaskKind& kind = task_kind_of(files, command.words);
  WeightsOptions options{.path = command.file};
  ModelRequest request{.source = command.config, .settings = command.words};
  if (kind.first_weights) {
    options = explaining_unknown(files, command.words, [&] {
      return kind.first_weights({files, command.words}, command.file);
    });
  }
  options.keeps_refusal = true;
  const SourcedModel model = model_from(request);
  const std::size_t count = file.tensors.size();
  const MatchedWeights found = matched_weights(weight_slots(model.model), std::move(file), options);
  const WeightsSource source = source_of_tensors(found.source, found.values);
  print_source(command.file, source, count);
  for (const WeightLine& line : found.lines) print_line(line);
  for (const std::string& name : found.unused)
    std::cout << printable(name) << "  only in the file\n";
  for (const std::string& name : found.momenta) std::cout << printable(name) << "  momentum\n";
  if (found.refusal) {
    std::cout << std::flush;
    std::rethrow_exception(found.refusal);
  }
  for (const std::string& line : found.summary) std::cout << printable(line) << "\n";
  if (!command.output.empty()) write_translated(command.output, found.values, source);
  return 0;
}

int run_weights(const WeightsCommand& command) {
  check(!command.config.empty() || command.words.empty(), "KEY VALUE pairs need --for CONFIG.yaml");
  const std::string path = weights_file({command.file});
  if (!command.output.empty())
    check_output(command.output, [&] { return std::vector<std::string>{path, command.config}; });
  Safetensors file = read_safetensors(path);
  return command.config.empty() ? list_file(command, std::move(file))
                                : try_file(command, std::move(file));
}

}  // namespace

void add_weights(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<WeightsCommand>();
  CLI::App* command = app.add_subcommand(
      "weights", "list a weights file, or try it on a configuration without training");
  command->add_option("file", options->file, "a .safetensors file")->required();
  command->add_option("--for", options->config,
                      "CONFIG.yaml: the tensors of its network, each with its place in the file");
  auto settings = std::make_shared<KeyWords>(*command);
  command->add_option("-o,--output", options->output,
                      "write the tensors under the network's names");
  command->footer(
      "Example:  lockstep weights resnet50.safetensors\n"
      "          lockstep weights resnet50.safetensors --for faster_rcnn.yaml RESNETS.STRIDE_1X1 "
      "false");
  command->callback([options, settings, &chosen] {
    options->words = settings->all();
    chosen = [options] { return run_weights(*options); };
  });
}

}  // namespace lockstep
