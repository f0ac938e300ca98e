// SPDX-License-Identifier: Apache-2.0
#include "models/detection/box_heads.h"

#include "lockstep/operators.h"

namespace lockstep {
namespace {

Value fc_relu(Net& net, Value x, int64_t channels, const std::string& name) {
  return relu_in_place(net, fc_layer(net, x, channels, {}, name), name);
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

Feature box_head_2mlp(Net& net, const DetectorOptions& options, const ResidualBody&,
                      const Feature& pooled) {
  const int64_t hidden = options.fast_rcnn.mlp_head_dim;
  const Value first = fc_relu(net, pooled.x, hidden, "fc6");
  return {fc_relu(net, first, hidden, "fc7"), hidden, 0, "fc7"};
}

Feature box_head_convs_fc(Net& net, const DetectorOptions& options, const ResidualBody&,
                          const Feature& pooled) {
  return convs_then_fc(net, options, pooled, false);
}

Feature box_head_convs_gn_fc(Net& net, const DetectorOptions& options, const ResidualBody&,
                             const Feature& pooled) {
  return convs_then_fc(net, options, pooled, true);
}

Feature box_head_residual(Net& net, const DetectorOptions& options, const ResidualBody& body,
                          const Feature& pooled) {
  return residual_roi_head(net, options, body, pooled, options.fast_rcnn.roi_xform_resolution);
}

}  // namespace lockstep
