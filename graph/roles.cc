// SPDX-License-Identifier: Apache-2.0
#include "graph/roles.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "graph/metadata.h"
#include "graph/onnx.h"
#include "graph/printable.h"

namespace lockstep {
namespace {

constexpr std::string_view kPrefix = "lockstep.";

std::string lines(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items)
    check(item.find('\n') == item.npos, "a value with a line feed in its name cannot be saved: '",
          printable(item), "'");
  for (const std::string& item : items) text += (text.empty() ? "" : "\n") + item;
  return text;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item);) items.push_back(item);
  return items;
}

int replicas_in(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  check(error == std::errc() && end == text.data() + text.size(), "metadata: '", text,
        "' is not a number of replicas");
  return number;
}

// Older files, written for one optimizer, name their only kind of slot "momentum".
StateKind kind_of_state(std::string_view name) {
  return name == "momentum" ? StateKind::slot : state_kind_named(name);
}

// Derives part and role from the name: older files contain the name alone.
StepInput input_by_name(const std::string& name) {
  StepInput input;
  input.name = name;
  if (name.rfind("micro_", 0) == 0) {
    const std::size_t slash = std::min(name.find('/'), name.size());
    std::from_chars(name.data() + 6, name.data() + slash, input.part);
    if (name_in_part(input.part, "") != name.substr(0, slash + 1)) input.part = 0;
  }
  const std::string feed = input.feed();
  if (feed == "lr") input.role = Role::rate;
  if (feed == "momentum_correction") input.role = Role::correction;
  if (feed == "loss_weight") input.role = Role::weight;
  return input;
}

// data.2.images: part 2 of the feed `images`.
struct InputKey {
  std::string role, feed;
  int part = 0;
};

std::optional<InputKey> parsed(const std::string& key) {
  const std::size_t dot = key.find('.');
  const std::size_t end = dot == key.npos ? key.npos : key.find('.', dot + 1);
  if (end == key.npos) return std::nullopt;
  InputKey found{key.substr(0, dot), key.substr(end + 1)};
  const char* last = key.data() + end;
  const auto [stop, error] = std::from_chars(key.data() + dot + 1, last, found.part);
  if (error != std::errc() || stop != last || found.part < 0) return std::nullopt;
  return found;
}

// True if all inputs have a role. A file has roles for all its inputs or for none; a name alone may
// look like a key with a role.
bool has_roles(const onnx::ModelProto& proto) {
  const std::string before = std::string(kPrefix) + "input.";
  return std::all_of(
      proto.metadata_props().begin(), proto.metadata_props().end(), [&](const auto& entry) {
        return !entry.key().starts_with(before) || parsed(entry.key().substr(before.size()));
      });
}

StepInput input_named(const std::string& text, bool with_roles) {
  const std::optional<InputKey> key = with_roles ? parsed(text) : std::nullopt;
  if (!key) return input_by_name(text);
  StepInput input;
  input.role = role_named(key->role);
  input.part = key->part;
  input.name = name_in_part(key->part, key->feed);
  return input;
}

}  // namespace

void add_metadata(onnx::ModelProto& proto, const std::string& key, const std::string& value) {
  check_metadata(key, value);
  auto* entry = proto.add_metadata_props();
  entry->set_key(std::string(kPrefix) + key);
  entry->set_value(value);
}

void write_roles(const TrainingModel& model, onnx::ModelProto& proto) {
  add_metadata(proto, "replicas", std::to_string(model.replicas));
  for (const auto& [key, text] : {std::pair{"buckets", &model.bucket_plan},
                                  {"all_reduce", &model.all_reduce},
                                  {"wire", &model.wire}})
    if (!text->empty()) add_metadata(proto, key, *text);
  for (const State& state : model.states)
    add_metadata(proto, join("state.", name_of(state.kind), ".", state.name), lines(state.values));
  for (const StepInput& input : model.inputs)
    add_metadata(proto, join("input.", name_of(input.role), ".", input.part, ".", input.feed()),
                 lines(input.values));
  for (auto& [role, items] : {std::pair{"loss.", &model.losses},
                              {"metric.", &model.metrics},
                              {"check.", &model.checks},
                              {"gradient.", &model.gradients}})
    for (const Replicated& item : *items) add_metadata(proto, role + item.name, lines(item.values));
  for (const auto& [key, value] : model.metadata) add_metadata(proto, key, value);
}

void read_roles(const onnx::ModelProto& proto, LoadedModel& loaded) {
  const bool with_roles = has_roles(proto);
  for (const auto& entry : proto.metadata_props()) {
    check_metadata(entry.key(), entry.value());
    std::string_view key = entry.key();
    if (!key.starts_with(kPrefix)) continue;
    key.remove_prefix(kPrefix.size());
    auto take = [&](std::string_view role) {
      bool found = key.starts_with(role);
      if (found) key.remove_prefix(role.size());
      return found;
    };
    auto item = [&] { return Replicated{std::string(key), split_lines(entry.value())}; };
    if (key == "replicas") {
      loaded.model.replicas = replicas_in(entry.value());
    } else if (key == "initialised") {
      loaded.initialised = entry.value() == "true";
    } else if (key == "buckets") {
      loaded.model.bucket_plan = entry.value();
    } else if (key == "all_reduce") {
      loaded.model.all_reduce = entry.value();
    } else if (key == "wire") {
      loaded.model.wire = entry.value();
    } else if (take("state.")) {
      auto dot = key.find('.');
      check(dot != key.npos, "metadata '", entry.key(), "' names no state");
      const StateKind kind = kind_of_state(key.substr(0, dot));
      key.remove_prefix(dot + 1);
      loaded.model.states.push_back({item(), kind});
    } else if (take("input.")) {
      StepInput input = input_named(std::string(key), with_roles);
      input.values = split_lines(entry.value());
      loaded.model.inputs.push_back(std::move(input));
    } else if (take("loss.")) {
      loaded.model.losses.push_back(item());
    } else if (take("metric.")) {
      loaded.model.metrics.push_back(item());
    } else if (take("check.")) {
      loaded.model.checks.push_back(item());
    } else if (take("gradient.")) {
      loaded.model.gradients.push_back(item());
    } else {
      loaded.model.metadata.emplace(key, entry.value());
    }
  }
}

}  // namespace lockstep
