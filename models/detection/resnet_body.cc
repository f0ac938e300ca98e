// SPDX-License-Identifier: Apache-2.0
#include "models/detection/resnet_body.h"

#include <algorithm>
#include <utility>

#include "lockstep/operators.h"
#include "models/detection/named_function.h"

namespace lockstep {
namespace {

// The group normalisation of x.
GroupNormAttrs groups_of(const Graph& graph, const GroupNormOptions& options, Value x) {
  const int64_t channels = graph.shape(x)[1].size();
  return {.groups = options.dim_per_gp > 0 ? channels / options.dim_per_gp : options.num_groups,
          .epsilon = static_cast<float>(options.epsilon)};
}

class ResidualStages {
 public:
  // `prefix` begins all names of values, and of parameters that `layers` lacks.
  ResidualStages(Net& net, const DetectorOptions& options, SharedLayers& layers,
                 std::string prefix = "")
      : net_(net),
        options_(options),
        layers_(layers),
        prefix_(std::move(prefix)),
        transformation_(function_named_by("RESNETS.TRANS_FUNC", transformation_functions(),
                                          options.resnets.trans_func)),
        stem_(function_named_by("RESNETS.STEM_FUNC", stem_functions(), options.resnets.stem_func)),
        shortcut_(function_named_by("RESNETS.SHORTCUT_FUNC", shortcut_functions(),
                                    options.resnets.shortcut_func)) {
    net_.names = kCaffe2Names;
  }

  Feature stem(Value data) {
    const int64_t channels = options_.resnets.stem_out_channels;
    const ConvLayer conv{.kernel = 7, .stride = 2, .pad = 3, .bias = false, .weight = xavier()};
    Value x = layers_.conv(data, channels, conv, named("conv1"));
    // The stem's normalisation is not named after the convolution, unlike other layers.
    x = stem_.normed ? group_norm(x, "conv1_gn") : affine_in_place(x, "conv1", "res_conv1_bn");
    x = activated(x, stem_.normed ? "conv1_gn" : "conv1");
    return {max_pool_layer(net_, x, {.kernel = 3, .stride = 2, .pad = 1}, "pool1"), channels, 4,
            "pool1"};
  }

  // Adds the blocks of stage `number`. The first block divides height and width by `stride`.
  Feature stage(Feature x, int64_t number, int64_t blocks, int64_t stride, int64_t dilation) {
    const int64_t width = int64_t{1} << (number - 2);
    const ResNetOptions& r = options_.resnets;
    const int64_t out = r.res2_out_channels * width;
    const Widths widths{transformation_.bottleneck ? r.num_groups * r.width_per_group * width : out,
                        out};
    for (int64_t i = 0; i < blocks; ++i)
      x = block(x, widths, i == 0 ? stride : 1, dilation, join("res", number, "_", i));
    return x;
  }

 private:
  struct Widths {
    int64_t inner, out;
  };

  SharedLayers::Name named(const std::string& name, Where where = Where::here()) const {
    return {name, Site(prefix_ + name, where)};
  }
  Value activated(Value x, const std::string& name) {
    return relu_in_place(net_, x, prefix_ + name);
  }
  Value group_norm(Value x, const std::string& name) {
    return layers_.group_norm(x, groups_of(net_.graph, options_.group_norm, x), named(name));
  }

  // Detectron's in-place AffineChannel: the result takes over the convolution's name.
  Value affine_in_place(Value x, const std::string& conv, const std::string& name) {
    net_.graph.rename(x, net_.graph.scoped(prefix_ + conv + "_conv"));
    return layers_.affine_channel(x, named(name));
  }

  // A convolution and its normalisation, followed by a ReLU unless the pair ends a branch.
  Value conv_norm(Value x, int64_t channels, ConvLayer conv, const std::string& name, bool by_group,
                  bool ends_branch) {
    conv.bias = false;
    conv.weight = xavier();
    x = layers_.conv(x, channels, conv, named(name));
    if (by_group) {
      x = group_norm(x, name + "_gn");
      return ends_branch ? x : activated(x, name + "_gn");
    }
    if (ends_branch) return layers_.affine_channel(x, named(name + "_bn"));
    return activated(affine_in_place(x, name, name + "_bn"), name);
  }

  Value transformed(Value x, const Widths& widths, int64_t stride, int64_t dilation,
                    const std::string& name) {
    const bool gn = transformation_.normed;
    const ConvLayer wide{.kernel = 3, .pad = dilation, .dilation = dilation};
    if (!transformation_.bottleneck) {
      ConvLayer first = wide;
      first.stride = stride;
      x = conv_norm(x, widths.inner, first, name + "_branch2a", gn, false);
      return conv_norm(x, widths.out, wide, name + "_branch2b", gn, true);
    }
    const int64_t early = options_.resnets.stride_1x1 ? stride : 1;
    ConvLayer middle = wide;
    middle.stride = stride / early;
    middle.group = options_.resnets.num_groups;
    x = conv_norm(x, widths.inner, {.kernel = 1, .stride = early}, name + "_branch2a", gn, false);
    x = conv_norm(x, widths.inner, middle, name + "_branch2b", gn, false);
    return conv_norm(x, widths.out, {.kernel = 1}, name + "_branch2c", gn, true);
  }

  Feature block(const Feature& in, const Widths& widths, int64_t stride, int64_t dilation,
                const std::string& name) {
    const Value branch = transformed(in.x, widths, stride, dilation, name);
    Value shortcut = in.x;
    if (in.channels != widths.out || stride != 1)
      shortcut = conv_norm(in.x, widths.out, {.kernel = 1, .stride = stride}, name + "_branch1",
                           shortcut_.normed, true);
    const std::string end = name + "_sum";
    const Value sum = add(net_.graph, branch, shortcut, prefix_ + end);
    return {activated(sum, end), widths.out, in.stride * stride, prefix_ + end};
  }

  Net& net_;
  const DetectorOptions& options_;
  SharedLayers& layers_;
  const std::string prefix_;
  const BlockFunction& transformation_;
  const BlockFunction& stem_;
  const BlockFunction& shortcut_;
};

// Of a head, whose RoIs have `resolution` cells on a side.
int64_t stride_of_stage_5(int64_t resolution) { return std::max<int64_t>(1, resolution / 7); }

}  // namespace

std::vector<Feature> residual_body(Net& net, const DetectorOptions& options,
                                   const ResidualBody& body, Value data) {
  SharedLayers layers(net);
  ResidualStages stages(net, options, layers);
  const auto freeze_until = [&](int64_t stage) {
    net.fixed = options.train.freeze_conv_body || stage <= options.train.freeze_at;
  };
  freeze_until(1);
  Feature x = stages.stem(data);
  std::vector<Feature> sums;
  for (int64_t stage = 2; stage <= body.last_stage; ++stage) {
    freeze_until(stage);
    const int64_t dilation = stage == 5 ? options.resnets.res5_dilation : 1;
    const int64_t stride = stage == 2 || dilation > 1 ? 1 : 2;
    x = stages.stage(x, stage, body.blocks[stage - 2], stride, dilation);
    sums.push_back(x);
  }
  net.fixed = options.train.freeze_conv_body;
  return sums;
}

ResidualHead::ResidualHead(Net& net, const DetectorOptions& options, const ResidualBody& body,
                           std::string own)
    : options_(options), body_(body), net_(net), layers_(net), own_(std::move(own)) {}

Feature ResidualHead::sums(const Feature& pooled, int64_t resolution, int64_t dilation,
                           const std::string& prefix) {
  const bool is_first = !first_.x;
  const Feature made =
      ResidualStages(net_, options_, layers_, is_first ? own_ : prefix)
          .stage(pooled, 5, body_.blocks[3], stride_of_stage_5(resolution), dilation);
  if (is_first) first_ = made;
  return made;
}

int64_t cells_after_stage_5(int64_t resolution) {
  const int64_t stride = stride_of_stage_5(resolution);
  return (resolution + stride - 1) / stride;
}

void check_residual_options(const DetectorOptions& options) {
  const ResNetOptions& r = options.resnets;
  const BlockFunction& transformation =
      function_named_by("RESNETS.TRANS_FUNC", transformation_functions(), r.trans_func);
  function_named_by("RESNETS.STEM_FUNC", stem_functions(), r.stem_func);
  function_named_by("RESNETS.SHORTCUT_FUNC", shortcut_functions(), r.shortcut_func);
  check(transformation.bottleneck || r.num_groups == 1, "RESNETS.NUM_GROUPS: ", r.num_groups,
        " groups need bottlenecks, not RESNETS.TRANS_FUNC ", r.trans_func);
}

Value group_norm_conv(Net& net, const GroupNormOptions& options, Value x, int64_t channels,
                      const ConvLayer& conv, const std::string& name) {
  ConvLayer without_bias = conv;
  without_bias.bias = false;
  x = conv_layer(net, x, channels, without_bias, name);
  return group_norm_layer(net, x, groups_of(net.graph, options, x), name + "_gn");
}

Value relu_in_place(Net& net, Value x, const std::string& name) {
  if (net.graph.name(x) == net.graph.scoped(name))
    net.graph.rename(x, net.graph.scoped(name + "_linear"));
  return relu(net.graph, x, name);
}

}  // namespace lockstep
