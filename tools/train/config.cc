#include "tools/train/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "builders/all_reduce/all_reduce.h"
#include "builders/step/precision.h"
#include "builders/step/statistics.h"
#include "graph/file.h"
#include "graph/graph.h"
#include "models/models.h"
#include "operators/collective/collective.h"
#include "runtime/device.h"
#include "tools/train/config_keys.h"

namespace lockstep {
namespace {

constexpr int64_t kMostThreadsOfAll = 4096;

// Whatever is asked of it, is asked of each number of a list.
template <class T, class Ask>
void each_number(const T& value, const Ask& ask) {
  if constexpr (std::is_arithmetic_v<T>)
    ask(static_cast<double>(value));
  else
    for (const auto& item : value)
      if constexpr (requires { item + 1.0; }) ask(static_cast<double>(item));
}

// As it stands in the file; of what is nested, or names itself by an alias, only its kind.
std::string shown(const YAML::Node& node) {
  constexpr std::size_t kMost = 20;
  if (node.IsScalar()) return node.Scalar();
  if (node.IsNull()) return "~";
  if (node.IsMap()) return "{..}";
  std::string text = "[";
  for (std::size_t i = 0; i < node.size() && i < kMost; ++i) {
    const YAML::Node item = node[i];
    text += (i > 0 ? ", " : "") + (item.IsScalar() ? item.Scalar() : "..");
  }
  return text + (node.size() > kMost ? ", ..]" : "]");
}

void assign(const ConfigKey& field, const YAML::Node& node, const std::string& at) {
  std::visit(
      [&](auto* target) {
        using T = std::remove_pointer_t<decltype(target)>;
        try {
          if constexpr (std::is_same_v<T, std::string>) {
            check(node.IsScalar() || node.IsNull(), "");
            *target = node.IsNull() ? "" : node.Scalar();
          } else {
            *target = node.as<T>();
          }
        } catch (const std::exception&) {
          fail(at, ": ", field.key, " should be ", kind_of(field), ", is '", shown(node), "'");
        }
        if constexpr (!std::is_same_v<T, bool>)
          each_number(*target, [&](double number) {
            check(std::isfinite(number), at, ": ", field.key, " is '", shown(node),
                  "', should be finite");
            check(number >= field.least, at, ": ", field.key, " is '", shown(node),
                  "', the least is ", field.least);
            check(number <= field.most, at, ": ", field.key, " is '", shown(node),
                  "', the most is ", text_of_most(field));
          });
      },
      field.target);
}

void assign_key(std::vector<ConfigKey>& fields, const std::string& key, const YAML::Node& node,
                const std::string& at) {
  std::vector<std::string> keys;
  for (const ConfigKey& field : fields) {
    if (field.key == key) return assign(field, node, at);
    keys.push_back(field.key);
  }
  std::string near = nearest(key, keys);
  fail(at, ": unknown key ", key, near.empty() ? "" : "; did you mean " + near + "?");
}

// Where each key of a file stands, those of sections too.
using Lines = std::map<std::string, int>;

void assign_tree(std::vector<ConfigKey>& fields, const YAML::Node& tree, const std::string& prefix,
                 const std::string& path, Lines& lines) {
  constexpr std::ptrdiff_t kDeepest = 4;  // an alias may lie within what it stands for
  for (const auto& entry : tree) {
    const int line = entry.first.Mark().line + 1;
    const std::string at = join(path, ":", line);
    check(entry.first.IsScalar(), at, ": a key should be a word, is '", shown(entry.first), "'");
    const std::string key = prefix + entry.first.Scalar();
    const auto [first, is_new] = lines.emplace(key, line);
    check(is_new, at, ": ", key, " stands in line ", first->second, " already");
    if (!entry.second.IsMap()) {
      assign_key(fields, key, entry.second, at);
      continue;
    }
    check(std::count(key.begin(), key.end(), '.') < kDeepest, at, ": unknown key ", key);
    assign_tree(fields, entry.second, key + ".", path, lines);
  }
}

YAML::Node parse(const std::string& text, const std::string& path) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    fail(path, ":", error.mark.line + 1, ": ", error.msg);
  }
}

void apply_overrides(std::vector<ConfigKey>& fields, const std::vector<std::string>& overrides) {
  check(overrides.size() % 2 == 0, "overrides come in pairs KEY VALUE; '",
        overrides.empty() ? "" : overrides.back(), "' has no value");
  for (std::size_t i = 0; i < overrides.size(); i += 2) {
    // A text is the word as it stands: a path may hold what YAML reads as its own.
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const ConfigKey& key) {
      return key.key == overrides[i] && std::holds_alternative<std::string*>(key.target);
    });
    const std::string& word = overrides[i + 1];
    assign_key(fields, overrides[i],
               field != fields.end() ? YAML::Node(word) : parse(word, overrides[i]),
               "command line");
  }
}

template <class Act>
void naming(const char* key, const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    fail(key, ": ", error.what());
  }
}

void check_together(const TrainConfig& config, int processes) {
  int64_t devices = 0;
  naming("DEVICES", [&] { devices = static_cast<int64_t>(parse_devices(config.devices).size()); });
  const int64_t replicas = devices * processes;
  const std::string of_all =
      processes == 1
          ? join(replicas, " replicas of DEVICES ", config.devices)
          : join(replicas, " replicas of ", processes, " processes with DEVICES ", config.devices);
  const char* parts = config.micro_batches > 1 ? " and their TRAIN.MICRO_BATCHES" : "";
  check(config.batch_size >= replicas * config.micro_batches, "TRAIN.BATCH_SIZE ",
        config.batch_size, " leaves nothing for some of the ", of_all, parts);
  check(config.crop_scale.size() == 2 && config.crop_scale[0] > 0 &&
            config.crop_scale[0] <= config.crop_scale[1] && config.crop_scale[1] <= 1,
        "DATA.CROP_SCALE should be two numbers, 0 < least <= most <= 1");
  AllReduceOptions reduce{.processes = processes};
  naming("ALL_REDUCE", [&] {
    reduce.spec = parse_all_reduce(config.all_reduce);
    AllReducer(reduce, static_cast<int>(replicas));
  });
  check(reduce.spec.reduction == Reduction::sum ||
            config.batch_size % (replicas * config.micro_batches) == 0,
        "ALL_REDUCE ", config.all_reduce, " needs equal shares: TRAIN.BATCH_SIZE ",
        config.batch_size, " does not divide over the ", of_all, parts);
  naming("RING_ORDER", [&] {
    for (int64_t place : config.ring_order)
      check(place <= std::numeric_limits<int>::max(), "there is no replica ", place);
    reduce.ring_order.assign(config.ring_order.begin(), config.ring_order.end());
    AllReducer(reduce, static_cast<int>(replicas));
  });
  const int64_t threads = config.threads * devices;
  check(threads <= kMostThreadsOfAll, "THREADS ", config.threads, " on each of DEVICES ",
        config.devices, " are ", threads, " threads; a process has ", kMostThreadsOfAll,
        " at most");
  naming("PACKING", [&] {
    if (config.packing != "auto") parse_packing(config.packing);
  });
  naming("TOPOLOGY", [&] {
    if (!config.topology.empty()) parse_topology(config.topology);
  });
  naming("WIRE", [&] { parse_wire(config.wire); });
  naming("SOLVER.TYPE", [&] { optimizer_of(config.optimizer, false); });
  naming("PRECISION", [&] { parse_precision(config.precision); });
  naming("TRAIN.STATISTICS", [&] { parse_statistics(config.statistics); });
  validate(config.schedule);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> TrainConfig::entries() const {
  TrainConfig copy = *this;
  std::vector<std::pair<std::string, std::string>> entries;
  for (const ConfigKey& key : keys_of(copy)) {
    const auto* text = std::get_if<std::string*>(&key.target);
    entries.emplace_back(key.key, text ? **text : yaml_of(key));
  }
  return entries;
}

std::string TrainConfig::yaml() const {
  TrainConfig copy = *this;
  std::string text, section;
  for (const ConfigKey& key : keys_of(copy)) {
    const auto dot = key.key.find('.');
    const std::string in = dot == key.key.npos ? "" : key.key.substr(0, dot);
    if (in != section) text += in + ":\n";
    section = in;
    text += (in.empty() ? "" : "  ") + key.key.substr(in.empty() ? 0 : dot + 1) + ": " +
            yaml_of(key) + "\n";
  }
  return text;
}

TrainConfig read_config(const std::string& path, const std::vector<std::string>& overrides,
                        int processes) {
  TrainConfig config;
  config.path = path;
  config.output_dir = "runs/" + std::filesystem::path(path).stem().string();
  std::vector<ConfigKey> fields = keys_of(config);
  YAML::Node tree = parse(read_file_or_pipe(path), path);
  check(tree.IsMap() || tree.IsNull(), path, ":1: should hold keys and values");
  Lines lines;
  assign_tree(fields, tree, "", path, lines);
  apply_overrides(fields, overrides);
  try {
    check_together(config, processes);
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
  return config;
}

}  // namespace lockstep
