#include "builders/layers.h"

#include "operators/conv/conv.h"
#include "operators/gemm/gemm.h"
#include "operators/pool/pool.h"
#include "operators/shape/shape.h"

namespace lockstep {
namespace {

int64_t known(const Net& net, Value x, std::size_t axis, const Site& site) {
  const Shape& shape = net.graph.shape(x);
  check(axis < shape.size() && shape[axis].known(), site.name, " (", site.where.text(),
        "): dimension ", axis, " of ", text_of(shape), " must be known to size its parameters");
  return shape[axis].size();
}

}  // namespace

Value conv_layer(Net& net, Value x, int64_t channels, const ConvLayer& options, const Site& site) {
  check(!site.name.empty(), "a layer needs a name (", site.where.text(), ")");
  const int64_t in = known(net, x, 1, site);
  check(in % options.group == 0, site.name, ": ", in, " channels do not divide into ",
        options.group, " groups");
  Value w =
      net.param(site.name + "_w", {channels, in / options.group, options.kernel, options.kernel},
                options.weight, StateKind::weight);
  Value b =
      options.bias ? net.param(site.name + "_b", {channels}, constant(0), StateKind::bias) : none;
  ConvAttrs attrs{{.kernel = {options.kernel, options.kernel},
                   .strides = {options.stride, options.stride},
                   .pads = {options.pad, options.pad, options.pad, options.pad},
                   .dilations = {options.dilation, options.dilation}},
                  options.group};
  return conv(net.graph, x, w, b, attrs, site);
}

Value fc_layer(Net& net, Value x, int64_t outputs, const FcLayer& options, const Site& site) {
  check(!site.name.empty(), "a layer needs a name (", site.where.text(), ")");
  if (net.graph.shape(x).size() > 2)
    x = flatten(net.graph, x, 1, Site(site.name + "_in", site.where));
  Value w = net.param(site.name + "_w", {outputs, known(net, x, 1, site)}, options.weight,
                      StateKind::weight);
  Value b =
      options.bias ? net.param(site.name + "_b", {outputs}, constant(0), StateKind::bias) : none;
  return gemm(net.graph, x, w, b, {.trans_b = true}, site);
}

Value max_pool_layer(Net& net, Value x, int64_t kernel, int64_t stride, const Site& site) {
  return max_pool(net.graph, x, {.kernel = {kernel, kernel}, .strides = {stride, stride}}, site);
}

}  // namespace lockstep
