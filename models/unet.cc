// SPDX-License-Identifier: Apache-2.0
#include "models/unet.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "graph/limits.h"
#include "lockstep/operators.h"
#include "lockstep/random.h"
#include "operators/conv/conv.h"
#include "operators/pool/pool.h"

namespace lockstep {
namespace {

constexpr uint64_t kUnetWeights = uint64_t{41} << 40;

// Writes the graph and notes its initializers.
class UnetWriter {
 public:
  explicit UnetWriter(const UnetOptions& options)
      : options_(options), file_{TrainingModel(all_ops())}, graph_(all_ops(), "unet") {}

  LoadedModel written() {
    const int64_t side = options_.side;
    // The two lowest levels have nearly all weights: fewer than 72 squares of their channels.
    const double lowest = static_cast<double>(options_.width) * std::exp2(options_.depth);
    check_memory(
        static_cast<std::size_t>(std::min(72 * lowest * lowest * sizeof(float), 0x1p62)),
        join("a U-Net with MODEL.WIDTH ", options_.width, " and MODEL.DEPTH ", options_.depth));
    Value x = graph_.input("image", {DType::float32, {"N", 3, side, side}});
    std::vector<Value> kept;
    int64_t channels = 3;
    for (int64_t level = 0; level < options_.depth; ++level) {
      x = twice(x, channels, at(level), join("down", level + 1));
      channels = at(level);
      kept.push_back(x);
      x = max_pool(graph_, x, {.kernel = {2, 2}, .strides = {2, 2}, .pads = {0, 0, 0, 0}},
                   Site(join("pool", level + 1)));
    }
    x = twice(x, channels, at(options_.depth), "bottom");
    channels = at(options_.depth);
    for (int64_t level = options_.depth - 1; level >= 0; --level) {
      const std::string name = join("up", level + 1);
      x = enlarged_twice(x, channels, at(level), name + "_grow");
      x = concat(graph_, {kept[level], x}, 1, Site(name + "_joined"));
      x = twice(x, 2 * at(level), at(level), name);
      channels = at(level);
    }
    const Value w = weight("scores_w", {options_.classes, channels, 1, 1}, channels);
    const Value b = filled("scores_b", options_.classes, 0, InitializerKind::parameter);
    graph_.output(conv(graph_, x, w, b, window(1, 1), Site("scores")));
    file_.model.inference = std::move(graph_);
    return std::move(file_);
  }

 private:
  int64_t at(int64_t level) const { return options_.width << level; }

  static ConvAttrs window(int64_t kernel, int64_t stride) {
    const int64_t pad = stride == 1 ? kernel / 2 : 0;
    return {{.kernel = {kernel, kernel},
             .strides = {stride, stride},
             .pads = {pad, pad, pad, pad},
             .dilations = {1, 1}},
            1};
  }

  Value initializer(const std::string& name, Literal literal, InitializerKind kind) {
    file_.initializers.push_back(name);
    file_.kinds[name] = kind;
    return graph_.constant(name, std::move(literal));
  }

  // He et al.'s initial values, for layers before a ReLU.
  Value weight(const std::string& name, const Dims& dims, int64_t fan_in) {
    PhiloxSequence random(options_.seed, kUnetWeights + file_.initializers.size());
    const double deviation = std::sqrt(2.0 / static_cast<double>(fan_in));
    check_memory(element_count(dims) * static_cast<int64_t>(sizeof(float)), name);
    std::vector<float> values(static_cast<std::size_t>(element_count(dims)));
    for (float& value : values) value = static_cast<float>(deviation * random.normal());
    return initializer(name, Literal::of<float>(values, dims), InitializerKind::parameter);
  }

  Value filled(const std::string& name, int64_t count, float value, InitializerKind kind) {
    const std::vector<float> values(static_cast<std::size_t>(count), value);
    return initializer(name, Literal::of<float>(values, {count}), kind);
  }

  Value normalised(Value x, int64_t channels, const std::string& name) {
    const Value scale = filled(name + "_s", channels, 1, InitializerKind::parameter);
    const Value bias = filled(name + "_b", channels, 0, InitializerKind::parameter);
    const Value mean = filled(name + "_rm", channels, 0, InitializerKind::buffer);
    const Value variance = filled(name + "_riv", channels, 1, InitializerKind::buffer);
    const Node norm = graph_.add(
        {.type = "BatchNormalization",
         .inputs = {x, scale, bias, mean, variance},
         .attributes = {{"epsilon", 1e-5F}, {"momentum", 0.9F}, {"training_mode", int64_t{1}}},
         .outputs = 3},
        Site(name));
    return norm.outputs()[0];
  }

  Value twice(Value x, int64_t from, int64_t to, const std::string& name) {
    for (int i = 1; i <= 2; ++i) {
      const std::string each = join(name, "_conv", i);
      const Value w = weight(each + "_w", {to, from, 3, 3}, 9 * from);
      x = conv(graph_, x, w, none, window(3, 1), Site(each));
      x = normalised(x, to, join(name, "_norm", i));
      x = relu(graph_, x, Site(join(name, "_relu", i)));
      from = to;
    }
    return x;
  }

  // Each pixel becomes two by two; windows do not overlap.
  Value enlarged_twice(Value x, int64_t from, int64_t to, const std::string& name) {
    const Value w = weight(name + "_w", {from, to, 2, 2}, from);
    const Value b = filled(name + "_b", to, 0, InitializerKind::parameter);
    return conv_transpose(graph_, x, w, b, window(2, 2), Site(name));
  }

  UnetOptions options_;
  LoadedModel file_;
  Graph graph_;
};

}  // namespace

LoadedModel unet(const UnetOptions& options) {
  check(options.depth > 0 && options.width > 0 && options.classes > 1, "a U-Net of depth ",
        options.depth, ", width ", options.width, " and ", options.classes, " classes");
  check(options.side > 0 && options.side % (int64_t{1} << options.depth) == 0, "a U-Net of depth ",
        options.depth, " halves its pictures ", options.depth, " times, but their side is ",
        options.side);
  return UnetWriter(options).written();
}

}  // namespace lockstep
