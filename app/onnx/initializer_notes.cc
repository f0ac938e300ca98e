// SPDX-License-Identifier: Apache-2.0
#include "app/onnx/initializer_notes.h"

#include <algorithm>
#include <array>

#include "app/format.h"
#include "builders/net/regularisers.h"
#include "graph/listed.h"
#include "graph/printable.h"
#include "lockstep/graph.h"

namespace lockstep {
namespace {

int64_t size_of(const LoadedModel& file, const std::string& name) {
  const Graph& graph = file.model.inference;
  const Literal* literal = graph.literal(graph.at(name));
  return literal ? literal->count() : 0;
}

// Initializers of one reason.
struct Group {
  std::string reason;
  std::vector<std::string> names;
};

std::vector<Group> groups_of(const InitializerChoices& choices, auto wanted) {
  std::vector<Group> groups;
  for (const InitializerChoice& choice : choices.all) {
    if (!wanted(choice)) continue;
    const std::string reason =
        choice.why == InitializerReason::unsure ? choice.looks : choice.reason();
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& each) { return each.reason == reason; });
    if (group == groups.end()) group = groups.insert(groups.end(), {reason, {}});
    group->names.push_back(choice.name);
  }
  return groups;
}

std::string text_of_groups(const std::vector<Group>& groups, const char* between) {
  constexpr std::size_t kMostNames = 4;
  std::vector<std::string> texts;
  for (const Group& group : groups)
    texts.push_back(join(first_listed(group.names, kMostNames), " (", group.reason, ")"));
  return listed(texts, between);
}

int64_t count_in(const std::vector<Group>& groups) {
  int64_t count = 0;
  for (const Group& group : groups) count += static_cast<int64_t>(group.names.size());
  return count;
}

std::string role_text(InitializerRole role) {
  switch (role) {
    case InitializerRole::parameter:
      return "trained";
    case InitializerRole::constant:
      return "constant";
    case InitializerRole::statistic:
      return "updated";
  }
  return "";
}

}  // namespace

std::vector<std::string> notes_on(const LoadedModel& file, const InitializerChoices& choices) {
  const std::set<std::string> trained = choices.trained();
  int64_t elements = 0;
  for (const std::string& name : trained) elements += size_of(file, name);
  std::string first =
      join("parameters ", trained.size(), " (", in_units(static_cast<double>(elements)), ")");
  const auto constants = groups_of(choices, [](const InitializerChoice& choice) {
    return choice.role() == InitializerRole::constant &&
           choice.why != InitializerReason::other_type && choice.why != InitializerReason::folded;
  });
  if (!constants.empty())
    first += join("; kept constant ", count_in(constants), ": ", text_of_groups(constants, "; "));
  std::vector<std::string> notes{first};
  const auto unsure = groups_of(choices, [](const InitializerChoice& choice) {
    return choice.why == InitializerReason::unsure;
  });
  if (!unsure.empty())
    notes.push_back(join("trained, although perhaps constants: ", text_of_groups(unsure, "; "),
                         ". The file does not decide this; --freeze PATTERN (MODEL.FREEZE) keeps "
                         "an initializer constant"));
  if (choices.fixed_batch_norms > 0)
    notes.push_back(
        join(count_of(choices.fixed_batch_norms, "batch norm keeps its", "batch norms keep their"),
             " statistics (training_mode 0); --train-batch-norm "
             "(MODEL.TRAIN_BATCH_NORM) trains with the statistics of the batch"));
  if (const int64_t idle = idle_dropouts(file.model.inference); idle > 0)
    notes.push_back(join(count_of(idle, "Dropout node has", "Dropout nodes have"),
                         " a ratio but no training mode, so that training drops nothing there; "
                         "export the network in training mode to keep dropout"));
  return notes;
}

std::string table_of(const InitializerChoices& choices,
                     const std::map<std::string, TensorType>& types) {
  std::vector<std::array<std::string, 4>> rows;
  std::array<std::size_t, 3> widths{};
  for (const InitializerChoice& choice : choices.all) {
    rows.push_back({printable(choice.name), join(types.at(choice.name)), role_text(choice.role()),
                    choice.reason()});
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], rows.back()[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i)
      text += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    text += row.back() + "\n";
  }
  return text;
}

std::map<std::string, TensorType> types_of_initializers(const LoadedModel& file) {
  const Graph& graph = file.model.inference;
  std::map<std::string, TensorType> types;
  for (const std::string& name : file.initializers) types[name] = graph.type(graph.at(name));
  return types;
}

std::string only_float_output(const Graph& graph) {
  std::string found;
  for (Value output : graph.outputs()) {
    if (!is_floating(graph.dtype(output))) continue;
    if (!found.empty()) return "";
    found = graph.name(output);
  }
  return found;
}

}  // namespace lockstep
