// SPDX-License-Identifier: Apache-2.0
#include "lockstep/layers.h"

#include <tuple>
#include <utility>

#include "builders/net/conv_attrs.h"
#include "lockstep/operators.h"
#include "operators/batch_norm/batch_norm.h"
#include "operators/conv/conv.h"
#include "operators/dropout/dropout.h"
#include "operators/kit/operator_helpers.h"
#include "operators/pool/pool.h"

namespace lockstep {
namespace {

int64_t known(const Net& net, Value x, std::size_t axis, const Site& site) {
  const Shape& shape = net.graph.shape(x);
  check(axis < shape.size() && shape[axis].known(), site.name, " (", site.where.text(),
        "): dimension ", axis, " of ", shape, " must be known to size its parameters");
  return shape[axis].size();
}

Value bias_of(Net& net, bool wanted, int64_t size, const Initializer& first, const Site& site) {
  if (!wanted) return none;
  return net.param(site.name + net.names.bias, {size}, first, StateKind::bias, site.where);
}

// Scale and offset of a normalisation.
std::pair<Value, Value> norm_params(Net& net, int64_t channels, float scale, const Site& site) {
  const auto param = [&](const char* name, float first) {
    return net.param(site.name + name, {channels}, constant(first), StateKind::norm, site.where);
  };
  const Value of_scale = param(net.names.scale, scale);
  return {of_scale, param(net.names.offset, 0)};
}

int64_t channels_of_images(const Net& net, Value x, const Site& site) {
  check(!site.name.empty(), "a layer needs a name (", site.where.text(), ")");
  const Shape& shape = net.graph.shape(x);
  check(shape.size() == 4, site.name, " (", site.where.text(), "): the data of a convolution is ",
        shape, ", should be [batch, channels, height, width]");
  return known(net, x, 1, site);
}

}  // namespace

ConvAttrs conv_attrs(const ConvLayer& options) {
  return {{.kernel = {options.kernel, options.kernel},
           .strides = {options.stride, options.stride},
           .pads = {options.pad, options.pad, options.pad, options.pad},
           .dilations = {options.dilation, options.dilation}},
          options.group};
}

Value conv_layer(Net& net, Value x, int64_t channels, const ConvLayer& options, const Site& site) {
  const int64_t in = channels_of_images(net, x, site);
  check(in % options.group == 0, site.name, " (", site.where.text(), "): ", in,
        " channels do not divide into ", options.group, " groups");
  Value w = net.param(site.name + net.names.weight,
                      {channels, in / options.group, options.kernel, options.kernel},
                      options.weight, StateKind::weight, site.where);
  Value b = bias_of(net, options.bias, channels, options.first_bias, site);
  return conv(net.graph, x, w, b, conv_attrs(options), site);
}

Value conv_transpose_layer(Net& net, Value x, int64_t channels, const ConvTransposeLayer& options,
                           const Site& site) {
  const int64_t in = channels_of_images(net, x, site);
  Value w = net.param(site.name + net.names.weight, {in, channels, options.kernel, options.kernel},
                      options.weight, StateKind::weight, site.where);
  Value b = bias_of(net, options.bias, channels, options.first_bias, site);
  const ConvLayer window{.kernel = options.kernel, .stride = options.stride, .pad = options.pad};
  return conv_transpose(net.graph, x, w, b, conv_attrs(window), site);
}

Value fc_layer(Net& net, Value x, int64_t outputs, const FcLayer& options, const Site& site) {
  check(!site.name.empty(), "a layer needs a name (", site.where.text(), ")");
  if (net.graph.shape(x).size() > 2)
    x = flatten(net.graph, x, 1, Site(site.name + "_in", site.where));
  const int64_t in = known(net, x, 1, site);
  Value w = net.param(site.name + net.names.weight,
                      options.inputs_first ? Dims{in, outputs} : Dims{outputs, in}, options.weight,
                      StateKind::weight, site.where);
  Value b = bias_of(net, options.bias, outputs, constant(0), site);
  return gemm(net.graph, x, w, b, {.trans_b = !options.inputs_first}, site);
}

Value batch_norm_layer(Net& net, Value x, const BatchNormLayer& options, const Site& site) {
  check(!site.name.empty(), "a layer needs a name (", site.where.text(), ")");
  const int64_t channels = known(net, x, 1, site);
  const auto statistic = [&](const char* name, float first) {
    return net.param(site.name + name, {channels}, constant(first), StateKind::computed,
                     site.where);
  };
  BatchNormOperands operands;
  operands.x = x;
  std::tie(operands.scale, operands.bias) = norm_params(net, channels, options.scale, site);
  operands.mean = statistic(net.names.mean, 0);
  operands.variance = statistic(net.names.variance, 1);
  const BatchNormAttrs attrs{.epsilon = options.epsilon, .momentum = options.momentum};
  if (!net.training()) return batch_norm(net.graph, operands, attrs, site);
  BatchNormResults results = batch_norm_train(net.graph, operands, attrs, site);
  net.next(operands.mean, results.mean);
  net.next(operands.variance, results.variance);
  return results.y;
}

Value affine_channel_layer(Net& net, Value x, const Site& site) {
  check(!site.name.empty(), "a layer needs a name (", site.where.text(), ")");
  const int64_t channels = known(net, x, 1, site);
  const bool fixed_after = std::exchange(net.fixed, true);
  BatchNormOperands operands;
  operands.x = x;
  std::tie(operands.scale, operands.bias) = norm_params(net, channels, 1, site);
  net.fixed = fixed_after;
  // A standard BatchNormalization node, so that all passes for batch norms apply.
  operands.mean = shared_vector(net.graph, channels, 0);
  operands.variance = shared_vector(net.graph, channels, 1);
  return batch_norm(net.graph, operands, {.epsilon = 0}, site);
}

Value group_norm_layer(Net& net, Value x, const GroupNormAttrs& attrs, const Site& site) {
  check(!site.name.empty(), "a layer needs a name (", site.where.text(), ")");
  const int64_t channels = known(net, x, 1, site);
  check(attrs.groups > 0 && channels % attrs.groups == 0, site.name, " (", site.where.text(),
        "): ", channels, " channels do not divide into ", attrs.groups, " groups");
  const auto [scale, bias] = norm_params(net, channels, 1, site);
  return group_norm(net.graph, x, scale, bias, attrs, site);
}

Value max_pool_layer(Net& net, Value x, const PoolLayer& options, const Site& site) {
  return max_pool(net.graph, x,
                  {.kernel = {options.kernel, options.kernel},
                   .strides = {options.stride, options.stride},
                   .pads = {options.pad, options.pad, options.pad, options.pad}},
                  site);
}

Value dropout_layer(Net& net, Value x, float ratio, const Site& site) {
  return net.training() ? dropout(net.graph, x, ratio, true, site) : x;
}

}  // namespace lockstep
