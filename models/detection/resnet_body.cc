// SPDX-License-Identifier: Apache-2.0
#include "models/detection/resnet_body.h"

#include <algorithm>

#include "graph/nearest.h"
#include "lockstep/operators.h"
#include "models/detection/catalogue.h"

namespace lockstep {
namespace {

const BlockFunction& block_named(const std::vector<BlockFunction>& functions, const char* key,
                                 const std::string& name) {
  if (const BlockFunction* function = function_in(functions, name)) return *function;
  std::vector<std::string> names;
  for (const BlockFunction& function : functions) names.push_back(function.name);
  const std::string near = nearest(name, names);
  fail(key, ": no function '", name, "'",
       near.empty() ? "" : join("; the nearest is '", near, "'"));
}

Value normalised_by_group(Net& net, const GroupNormOptions& options, Value x,
                          const std::string& name) {
  const int64_t channels = net.graph.shape(x)[1].size();
  return group_norm_layer(
      net, x,
      {.groups = options.dim_per_gp > 0 ? channels / options.dim_per_gp : options.num_groups,
       .epsilon = static_cast<float>(options.epsilon)},
      name);
}

class ResidualStages {
 public:
  ResidualStages(Net& net, const DetectorOptions& options)
      : net_(net),
        options_(options),
        transformation_(block_named(transformation_functions(), "RESNETS.TRANS_FUNC",
                                    options.resnets.trans_func)),
        stem_(block_named(stem_functions(), "RESNETS.STEM_FUNC", options.resnets.stem_func)),
        shortcut_(block_named(shortcut_functions(), "RESNETS.SHORTCUT_FUNC",
                              options.resnets.shortcut_func)) {
    net_.names = kCaffe2Names;
  }

  Feature stem(Value data) {
    const int64_t channels = options_.resnets.stem_out_channels;
    const ConvLayer conv{.kernel = 7, .stride = 2, .pad = 3, .bias = false, .weight = xavier()};
    Value x = conv_layer(net_, data, channels, conv, "conv1");
    // The stem's normalisation is not named after the convolution, unlike other layers.
    x = stem_.normed ? normalised_by_group(net_, options_.group_norm, x, "conv1_gn")
                     : affine_in_place(x, "conv1", "res_conv1_bn");
    x = relu_in_place(net_, x, stem_.normed ? "conv1_gn" : "conv1");
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

  // Detectron's in-place AffineChannel: the result takes over the convolution's name.
  Value affine_in_place(Value x, const std::string& conv, const std::string& name) {
    net_.graph.rename(x, net_.graph.scoped(conv + "_conv"));
    return affine_channel_layer(net_, x, name);
  }

  // A convolution and its normalisation, followed by a ReLU unless the pair ends a branch.
  Value conv_norm(Value x, int64_t channels, ConvLayer conv, const std::string& name,
                  bool group_norm, bool ends_branch) {
    conv.bias = false;
    conv.weight = xavier();
    x = conv_layer(net_, x, channels, conv, name);
    if (group_norm) {
      x = normalised_by_group(net_, options_.group_norm, x, name + "_gn");
      return ends_branch ? x : relu_in_place(net_, x, name + "_gn");
    }
    if (ends_branch) return affine_channel_layer(net_, x, name + "_bn");
    return relu_in_place(net_, affine_in_place(x, name, name + "_bn"), name);
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
    const Value sum = add(net_.graph, branch, shortcut, name + "_sum");
    return {relu_in_place(net_, sum, name + "_sum"), widths.out, in.stride * stride, name + "_sum"};
  }

  Net& net_;
  const DetectorOptions& options_;
  const BlockFunction& transformation_;
  const BlockFunction& stem_;
  const BlockFunction& shortcut_;
};

}  // namespace

std::vector<Feature> residual_body(Net& net, const DetectorOptions& options,
                                   const ResidualBody& body, Value data) {
  ResidualStages stages(net, options);
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

Feature residual_roi_head(Net& net, const DetectorOptions& options, const ResidualBody& body,
                          const Feature& pooled, int64_t resolution) {
  Feature x = ResidualStages(net, options)
                  .stage(pooled, 5, body.blocks[3], std::max<int64_t>(1, resolution / 7), 1);
  x.x = global_average_pool(net.graph, x.x, "res5_pool");
  return x;
}

void check_residual_options(const DetectorOptions& options) {
  const ResNetOptions& r = options.resnets;
  const BlockFunction& transformation =
      block_named(transformation_functions(), "RESNETS.TRANS_FUNC", r.trans_func);
  block_named(stem_functions(), "RESNETS.STEM_FUNC", r.stem_func);
  block_named(shortcut_functions(), "RESNETS.SHORTCUT_FUNC", r.shortcut_func);
  check(transformation.bottleneck || r.num_groups == 1, "RESNETS.NUM_GROUPS: ", r.num_groups,
        " groups need bottlenecks, not RESNETS.TRANS_FUNC ", r.trans_func);
}

Value group_norm_conv(Net& net, const GroupNormOptions& options, Value x, int64_t channels,
                      const ConvLayer& conv, const std::string& name) {
  ConvLayer without_bias = conv;
  without_bias.bias = false;
  x = conv_layer(net, x, channels, without_bias, name);
  return normalised_by_group(net, options, x, name + "_gn");
}

Value relu_in_place(Net& net, Value x, const std::string& name) {
  if (net.graph.name(x) == net.graph.scoped(name))
    net.graph.rename(x, net.graph.scoped(name + "_linear"));
  return relu(net.graph, x, name);
}

}  // namespace lockstep
