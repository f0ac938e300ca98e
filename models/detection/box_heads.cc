// SPDX-License-Identifier: Apache-2.0
#include "models/detection/box_heads.h"

#include "lockstep/operators.h"
#include "models/detection/vgg_body.h"

namespace lockstep {
namespace {

Value fc_relu(Net& net, Value x, int64_t channels, const std::string& name) {
  return relu_in_place(net, fc_layer(net, x, channels, {}, name), name);
}

Feature two_fcs(Net& net, const Feature& pooled, int64_t first, int64_t second) {
  const Value hidden = fc_relu(net, pooled.x, first, "fc6");
  return {fc_relu(net, hidden, second, "fc7"), second, 0, "fc7"};
}

Feature convs_then_fc(Net& net, const DetectorOptions& options, const Feature& pooled,
                      bool group_norm) {
  const int64_t channels = options.fast_rcnn.conv_head_dim;
  Value x = pooled.x;
  for (int64_t i = 1; i <= options.fast_rcnn.num_stacked_convs; ++i) {
    const ConvLayer layer{.kernel = 3, .pad = 1, .weight = msra()};
    const std::string name = join("head_conv", i);
    x = group_norm ? group_norm_conv(net, options.group_norm, x, channels, layer, name)
                   : conv_layer(net, x, channels, layer, name);
    x = relu_in_place(net, x, group_norm ? name + "_gn" : name);
  }
  const int64_t hidden = options.fast_rcnn.mlp_head_dim;
  return {fc_relu(net, x, hidden, "fc6"), hidden, 0, "fc6"};
}

}  // namespace

Feature box_head_2mlp(Net& net, const DetectorOptions& options, ResidualHead&,
                      const Feature& pooled) {
  const int64_t hidden = options.fast_rcnn.mlp_head_dim;
  return two_fcs(net, pooled, hidden, hidden);
}

Feature box_head_vgg16(Net& net, const DetectorOptions& options, ResidualHead&,
                       const Feature& pooled) {
  const int64_t hidden = vgg_width(options, 4096);
  return two_fcs(net, pooled, hidden, hidden);
}

Feature box_head_vgg_m(Net& net, const DetectorOptions& options, ResidualHead&,
                       const Feature& pooled) {
  return two_fcs(net, pooled, vgg_width(options, 4096), vgg_width(options, 1024));
}

Feature box_head_convs_fc(Net& net, const DetectorOptions& options, ResidualHead&,
                          const Feature& pooled) {
  return convs_then_fc(net, options, pooled, false);
}

Feature box_head_convs_gn_fc(Net& net, const DetectorOptions& options, ResidualHead&,
                             const Feature& pooled) {
  return convs_then_fc(net, options, pooled, true);
}

Feature box_head_residual(Net& net, const DetectorOptions& options, ResidualHead& stage_5,
                          const Feature& pooled) {
  Feature x = stage_5.sums(pooled, options.fast_rcnn.roi_xform_resolution);
  x.x = global_average_pool(net.graph, x.x, "res5_pool");
  return x;
}

}  // namespace lockstep
