#include "tools/train/config.h"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <variant>

#include "builders/all_reduce/all_reduce.h"
#include "builders/precision.h"
#include "builders/statistics.h"
#include "graph/file.h"
#include "graph/graph.h"
#include "models/models.h"
#include "operators/collective/collective.h"
#include "runtime/device.h"

namespace lockstep {
namespace {

using Target = std::variant<std::string*, int64_t*, float*, double*, bool*, std::vector<int64_t>*,
                            std::vector<double>*, std::vector<std::string>*>;

struct Field {
  std::string key;
  Target target;
  double least = -std::numeric_limits<double>::infinity();
};

// The one list of keys.
std::vector<Field> fields_of(TrainConfig& c) {
  return {{"OUTPUT_DIR", &c.output_dir},
          {"DEVICES", &c.devices},
          {"ALL_REDUCE", &c.all_reduce},
          {"RING_ORDER", &c.ring_order, 0},
          {"PACKING", &c.packing},
          {"PIECES", &c.pieces, 1},
          {"WIRE", &c.wire},
          {"PRECISION", &c.precision},
          {"TF32", &c.tf32},
          {"TOPOLOGY", &c.topology},
          {"BUCKETS", &c.buckets},
          {"THREADS", &c.threads, 0},
          {"RNG_SEED", &c.seed, 0},
          {"MODEL.TYPE", &c.model},
          {"MODEL.NUM_CLASSES", &c.classes, 2},
          {"MODEL.HIDDEN", &c.hidden, 1},
          {"MODEL.ONNX", &c.onnx},
          {"MODEL.NEW_CLASSIFIER", &c.new_classifier},
          {"MODEL.FREEZE", &c.freeze},
          {"MODEL.WEIGHTS", &c.weights},
          {"RESNETS.STRIDE_1X1", &c.stride_in_1x1},
          {"RESNETS.ZERO_INIT_GAMMA", &c.zero_init_gamma},
          {"DATA.NAME", &c.dataset},
          {"DATA.ROOT", &c.data_root},
          {"DATA.TRAIN_SIZE", &c.train_size, 1},
          {"DATA.TEST_SIZE", &c.test_size, 1},
          {"DATA.IMAGE_SIZE", &c.image_size, 1},
          {"DATA.RESIZE", &c.resize, 1},
          {"DATA.CROP_SCALE", &c.crop_scale, 0},
          {"DATA.FLIP", &c.flip},
          {"DATA.THREADS", &c.data_threads, 0},
          {"TRAIN.BATCH_SIZE", &c.batch_size, 1},
          {"TRAIN.SNAPSHOT_ITERS", &c.snapshot_iters, 1},
          {"TRAIN.LOG_ITERS", &c.log_iters, 1},
          {"TRAIN.DRIFT_ITERS", &c.drift_iters, 1},
          {"TRAIN.MICRO_BATCHES", &c.micro_batches, 1},
          {"TRAIN.STATISTICS", &c.statistics},
          {"TRAIN.SYNC_BATCH_NORM", &c.sync_batch_norm},
          {"TEST.ITERS", &c.test_iters, 1},
          {"SOLVER.BASE_LR", &c.schedule.base_lr, 0},
          {"SOLVER.LR_POLICY", &c.schedule.policy},
          {"SOLVER.GAMMA", &c.schedule.gamma, 0},
          {"SOLVER.STEP_SIZE", &c.schedule.step_size, 1},
          {"SOLVER.STEPS", &c.schedule.steps, 0},
          {"SOLVER.LRS", &c.schedule.lrs, 0},
          {"SOLVER.MAX_ITER", &c.schedule.max_iter, 1},
          {"SOLVER.WARM_UP_ITERS", &c.schedule.warm_up_iters, 0},
          {"SOLVER.WARM_UP_FACTOR", &c.schedule.warm_up_factor, 0},
          {"SOLVER.WARM_UP_METHOD", &c.schedule.warm_up_method},
          {"SOLVER.MOMENTUM", &c.optimizer.momentum, 0},
          {"SOLVER.NESTEROV", &c.optimizer.nesterov},
          {"SOLVER.WEIGHT_DECAY", &c.optimizer.weight_decay, 0},
          {"SOLVER.WEIGHT_DECAY_GN", &c.optimizer.weight_decay_norm, 0},
          {"SOLVER.BIAS_LR_FACTOR", &c.optimizer.bias_rate_factor, 0},
          {"SOLVER.SCALE_MOMENTUM", &c.schedule.scale_momentum},
          {"SOLVER.SCALE_MOMENTUM_THRESHOLD", &c.schedule.scale_momentum_threshold, 1},
          {"SOLVER.LOG_LR_CHANGE_THRESHOLD", &c.log_lr_change_threshold, 1},
          {"SOLVER.SKIP_NON_FINITE", &c.skip_non_finite},
          {"SOLVER.DEFERRED", &c.deferred},
          {"SOLVER.CLIP_NORM", &c.clip.norm, 0},
          {"SOLVER.CLIP_EACH_NORM", &c.clip.each_norm, 0},
          {"SOLVER.CLIP_VALUE", &c.clip.value, 0},
          {"SOLVER.CLIP_BEFORE_REDUCE", &c.clip.before_reduce}};
}

const char* kind_of(const Target& target) {
  constexpr const char* kNames[] = {
      "a text",        "a whole number",          "a number",          "a number",
      "true or false", "a list of whole numbers", "a list of numbers", "a list of texts"};
  return kNames[target.index()];
}

template <class T>
double smallest(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(value);
  double least = std::numeric_limits<double>::infinity();
  if constexpr (requires { value.front() + 1.0; })
    for (auto item : value) least = std::min(least, static_cast<double>(item));
  return least;
}

void assign(const Field& field, const YAML::Node& node, const std::string& at) {
  std::visit(
      [&](auto* target) {
        using T = std::remove_pointer_t<decltype(target)>;
        try {
          if constexpr (std::is_same_v<T, std::string>) check(node.IsScalar(), "");
          *target = node.as<T>();
        } catch (const std::exception&) {
          fail(at, ": ", field.key, " should be ", kind_of(field.target), ", is '",
               node.IsScalar() ? node.Scalar() : YAML::Dump(node), "'");
        }
        if constexpr (!std::is_same_v<T, std::string> && !std::is_same_v<T, bool> &&
                      !std::is_same_v<T, std::vector<std::string>>)
          check(smallest(*target) >= field.least, at, ": ", field.key, " is '",
                node.IsScalar() ? node.Scalar() : YAML::Dump(node), "', the least is ",
                field.least);
      },
      field.target);
}

void assign_key(std::vector<Field>& fields, const std::string& key, const YAML::Node& node,
                const std::string& at) {
  std::vector<std::string> keys;
  for (const Field& field : fields) {
    if (field.key == key) return assign(field, node, at);
    keys.push_back(field.key);
  }
  std::string near = nearest(key, keys);
  fail(at, ": unknown key ", key, near.empty() ? "" : "; did you mean " + near + "?");
}

void assign_tree(std::vector<Field>& fields, const YAML::Node& tree, const std::string& prefix,
                 const std::string& path) {
  for (const auto& entry : tree) {
    const std::string key = prefix + entry.first.as<std::string>();
    const std::string at = join(path, ":", entry.first.Mark().line + 1);
    if (entry.second.IsMap())
      assign_tree(fields, entry.second, key + ".", path);
    else
      assign_key(fields, key, entry.second, at);
  }
}

YAML::Node parse(const std::string& text, const std::string& path) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    fail(path, ":", error.mark.line + 1, ": ", error.msg);
  }
}

void apply_overrides(std::vector<Field>& fields, const std::vector<std::string>& overrides) {
  check(overrides.size() % 2 == 0, "overrides come in pairs KEY VALUE; '", overrides.back(),
        "' has no value");
  for (std::size_t i = 0; i < overrides.size(); i += 2)
    assign_key(fields, overrides[i], parse(overrides[i + 1], overrides[i]), "command line");
}

template <class T>
std::string value_text(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) return value;
  YAML::Emitter emitter;
  emitter << YAML::Flow << value;
  return emitter.c_str();
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
  const auto replicas = static_cast<int64_t>(parse_devices(config.devices).size()) * processes;
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
  AllReduceOptions reduce{.workers = processes};
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
  const ClipOptions& clip = config.clip;
  for (const auto& [key, limit] : {std::pair("SOLVER.CLIP_NORM", clip.norm),
                                   std::pair("SOLVER.CLIP_EACH_NORM", clip.each_norm),
                                   std::pair("SOLVER.CLIP_VALUE", clip.value)})
    check(std::isfinite(limit), key, " is ", limit, ", should be finite; 0 does not clip");
  naming("PACKING", [&] {
    if (config.packing != "auto") parse_packing(config.packing);
  });
  naming("TOPOLOGY", [&] {
    if (!config.topology.empty()) parse_topology(config.topology);
  });
  naming("WIRE", [&] { check_wire(config.wire, DType::float32); });
  naming("PRECISION", [&] { parse_precision(config.precision); });
  naming("TRAIN.STATISTICS", [&] { parse_statistics(config.statistics); });
  validate(config.schedule);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> TrainConfig::entries() const {
  TrainConfig copy = *this;
  std::vector<std::pair<std::string, std::string>> entries;
  for (const Field& field : fields_of(copy))
    entries.emplace_back(field.key,
                         std::visit([](auto* value) { return value_text(*value); }, field.target));
  return entries;
}

TrainConfig read_config(const std::string& path, const std::vector<std::string>& overrides,
                        int processes) {
  TrainConfig config;
  config.path = path;
  config.output_dir = "runs/" + std::filesystem::path(path).stem().string();
  std::vector<Field> fields = fields_of(config);
  YAML::Node tree = parse(read_file(path), path);
  check(tree.IsMap() || tree.IsNull(), path, ":1: should hold keys and values");
  assign_tree(fields, tree, "", path);
  apply_overrides(fields, overrides);
  try {
    check_together(config, processes);
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
  return config;
}

}  // namespace lockstep
