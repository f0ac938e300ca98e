// SPDX-License-Identifier: Apache-2.0
#include "models/detection/fpn.h"

#include <algorithm>

#include "lockstep/operators.h"
#include "models/detection/resnet_body.h"

namespace lockstep {
namespace {

constexpr int64_t kFinestStage = 2, kCoarsestStage = 5;

class Pyramid {
 public:
  Pyramid(Net& net, const DetectorOptions& options) : net_(net), options_(options) {}

  // Inner maps from the coarsest stage down to `first`. Each level adds the next coarser level,
  // enlarged.
  std::vector<Value> inner(const std::vector<Feature>& stages, int64_t first) {
    std::vector<Value> levels;  // coarsest first
    for (int64_t level = kCoarsestStage; level >= first; --level) {
      const Feature& stage = stages.at(level - kFinestStage);
      const std::string name = "fpn_inner_" + stage.name;
      if (levels.empty()) {
        levels.push_back(conv(stage.x, 1, xavier(), name));
        continue;
      }
      const Initializer first_weight = options_.fpn.zero_init_lateral ? constant(0) : xavier();
      const Value lateral = conv(stage.x, 1, first_weight, name + "_lateral");
      levels.push_back(add(net_.graph, lateral, doubled(levels.back(), name + "_topdown"), name));
    }
    return levels;
  }

  Value outer(Value inner, const Feature& stage) {
    return conv(inner, 3, xavier(), "fpn_" + stage.name);
  }

  Value conv(Value x, int64_t kernel, const Initializer& weight, const std::string& name) {
    const ConvLayer layer{.kernel = kernel, .pad = kernel / 2, .weight = weight};
    if (options_.fpn.use_gn)
      return group_norm_conv(net_, options_.group_norm, x, options_.fpn.dim, layer, name);
    return conv_layer(net_, x, options_.fpn.dim, layer, name);
  }

 private:
  Value doubled(Value x, const std::string& name) {
    const Value scales = net_.graph.constant(
        name + "_scales", Literal::of<float>(std::vector<float>{1, 1, 2, 2}, {4}));
    return net_.graph.add_value({.type = "Resize",
                                 .inputs = {x, none, scales},
                                 .attributes = {{"mode", "nearest"},
                                                {"nearest_mode", "floor"},
                                                {"coordinate_transformation_mode", "asymmetric"}}},
                                name);
  }

  Net& net_;
  const DetectorOptions& options_;
};

}  // namespace

PyramidLevels pyramid_levels(const FpnOptions& options) {
  PyramidLevels levels;
  if (options.multilevel_rpn && options.multilevel_rois)
    return {std::min(options.rpn_min_level, options.roi_min_level),
            std::max(options.rpn_max_level, options.roi_max_level)};
  if (options.multilevel_rpn) return {options.rpn_min_level, options.rpn_max_level};
  if (options.multilevel_rois) return {options.roi_min_level, options.roi_max_level};
  return levels;
}

Features feature_pyramid(Net& net, const DetectorOptions& options,
                         const std::vector<Feature>& stages) {
  const PyramidLevels levels = pyramid_levels(options.fpn);
  Pyramid pyramid(net, options);
  const std::vector<Value> inner = pyramid.inner(stages, levels.first);
  std::vector<Feature> maps;  // coarsest first
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const Feature& stage = stages[stages.size() - 1 - i];
    maps.push_back(
        {pyramid.outer(inner[i], stage), options.fpn.dim, stage.stride, "fpn_" + stage.name});
  }
  std::reverse(maps.begin(), maps.end());
  if (!options.fpn.extra_conv_levels && levels.last == kCoarsestStage + 1) {
    const Feature& coarsest = maps.back();
    const std::string name = coarsest.name + "_subsampled_2x";
    maps.push_back({max_pool_layer(net, coarsest.x, {.kernel = 1, .stride = 2}, name),
                    options.fpn.dim, 2 * coarsest.stride, name});
  } else if (options.fpn.extra_conv_levels) {
    // Coarser levels are convolutions of the body's last stage, as in RetinaNet.
    Value x = stages.back().x;
    for (int64_t level = kCoarsestStage + 1; level <= levels.last; ++level) {
      const std::string name = join("fpn_", level);
      if (level > kCoarsestStage + 1) x = relu(net.graph, x, join("fpn_", level - 1, "_relu"));
      x = conv_layer(net, x, options.fpn.dim,
                     {.kernel = 3, .stride = 2, .pad = 1, .weight = xavier()}, name);
      maps.push_back({x, options.fpn.dim, 2 * maps.back().stride, name});
    }
  }
  return {std::move(maps), levels.first};
}

Features finest_of_pyramid(Net& net, const DetectorOptions& options,
                           const std::vector<Feature>& stages) {
  Pyramid pyramid(net, options);
  const std::vector<Value> inner = pyramid.inner(stages, kFinestStage);
  Feature finest;
  const bool fixed_after = net.fixed;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const Feature& stage = stages[stages.size() - 1 - i];
    // Detectron also makes the convolutions of the other levels, although nothing reads them.
    net.fixed = fixed_after || i + 1 < inner.size();
    finest = {pyramid.outer(inner[i], stage), options.fpn.dim, stage.stride, "fpn_" + stage.name};
  }
  net.fixed = fixed_after;
  return {{finest}};
}

}  // namespace lockstep
