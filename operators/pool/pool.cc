// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool, GlobalAveragePool, GlobalMaxPool.
// MaxPoolGrad (dy, x) finds the maxima again; the first maximum of a window gets the gradient.
// AveragePoolGrad (dy) and GlobalAveragePoolGrad (dy) need only the spatial sizes of x.
// These operators occur in plans only (keep_places_of_maxima):
//   MaxPoolPlaces (x) -> y, places   MaxPool, and the number of each maximum in its window
//   MaxPoolPlacesGrad (dy, places) -> dx
#include "operators/pool/pool.h"

#include <algorithm>

#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

// The shape of the result.
Shape pooled(const PoolAttrs& attrs, const Shape& x) {
  Window window = resolved(attrs.window, attrs.window.kernel, spatial_of(x));
  for (std::size_t i = 0; i < window.kernel.size(); ++i)
    check(window.pads[i] < window.kernel[i] * window.dilations[i], "padding ", window.pads[i],
          " is not smaller than the window");
  Shape y{x[0], x[1]};
  for (std::size_t i = 0; i + 2 < x.size(); ++i)
    y.push_back(x[i + 2].known() ? Dim(output_size(window, i, x[i + 2].size())) : Dim("?"));
  return y;
}

void pool_law(Inference& inference) {
  inference.require_ranked();
  supported(inference.outputs.size() == 1, "the second output (indices) is not supported");
  PoolAttrs attrs = read_pool(inference.attributes);
  supported(inference.attributes.integer("storage_order", 0) == 0,
            "storage_order 1 is not supported");
  inference.attributes.done();
  const Shape& x = inference.input(0).shape;
  check(x.size() >= 3, "data has ", x.size(), " dimensions, should have at least 3");
  inference.outputs[0] = {inference.input(0).dtype, pooled(attrs, x)};
}

void global_law(Inference& inference) {
  inference.require_ranked();
  demand_at_least_dims(inference, 0, 3);
  Shape y = inference.input(0).shape;
  std::fill(y.begin() + 2, y.end(), Dim(1));
  inference.outputs[0] = {inference.input(0).dtype, y};
}

// The shape of dx, from dy and from the attribute x_shape, since strides leave x's sizes open.
Shape gradient_shape(Inference& inference) {
  inference.require_ranked();
  demand_at_least_dims(inference, 0, 3);
  const Shape& dy = inference.input(0).shape;
  const std::vector<int64_t> sizes = inference.attributes.integers("x_shape");
  check(sizes.size() + 2 == dy.size(), "x_shape ", sizes, " has the wrong length, should have ",
        dy.size() - 2, " entries");
  Shape dx{dy[0], dy[1]};
  for (int64_t size : sizes) {
    check(size > 0, "x_shape ", sizes, " has ", size);
    dx.push_back(size);
  }
  inference.outputs[0] = {inference.input(0).dtype, dx};
  return dx;
}

void average_grad_law(Inference& inference) {
  const Shape dx = gradient_shape(inference);
  demand_shape(inference, 0, pooled(read_pool(inference.attributes), dx));
}

void global_grad_law(Inference& inference) {
  Shape dy = gradient_shape(inference);
  std::fill(dy.begin() + 2, dy.end(), Dim(1));
  demand_shape(inference, 0, dy);
}

void max_grad_law(Inference& inference) {
  inference.require_ranked();
  demand_at_least_dims(inference, 1, 3);
  demand_shape(inference, 0, pooled(read_pool(inference.attributes), inference.input(1).shape));
  inference.outputs[0] = inference.input(1);
}

void places_law(Inference& inference) {
  inference.require_ranked();
  demand_at_least_dims(inference, 0, 3);
  const Window window = read_pool(inference.attributes).window;
  const int64_t size = element_count(window.kernel);
  check(size <= kNoPlace, "a window has ", size, " places, more than a byte can tell apart");
  const Shape y = pooled({window}, inference.input(0).shape);
  inference.outputs[0] = {inference.input(0).dtype, y};
  inference.outputs[1] = {DType::uint8, y};
}

void places_grad_law(Inference& inference) {
  const Shape dx = gradient_shape(inference);
  const Shape y = pooled(read_pool(inference.attributes), dx);
  for (const std::size_t i : {0, 1}) demand_shape(inference, i, y);
  demand_type(inference, 1, DType::uint8);
}

Attributes written(const GradientRequest& r) {
  AttributeReader reader = r.node.attributes();
  PoolAttrs attrs = read_pool(reader);
  Attributes attributes =
      write_window(resolved(attrs.window, attrs.window.kernel, spatial_of(r.graph.shape(r.x(0)))));
  if (attrs.count_include_pad) attributes.push_back({"count_include_pad", int64_t{1}});
  return attributes;
}

std::vector<Value> max_gradient(const GradientRequest& r) {
  return {r.graph.add_value({.type = "MaxPoolGrad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], r.x(0)},
                             .attributes = written(r)},
                            gradient_site(r, 0))};
}

std::vector<Value> average_gradient(const GradientRequest& r) {
  Attributes attributes = written(r);
  attributes.push_back({"x_shape", to_dims(spatial_of(r.graph.shape(r.x(0))))});
  return {r.graph.add_value({.type = "AveragePoolGrad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0]},
                             .attributes = attributes},
                            gradient_site(r, 0))};
}

std::vector<Value> global_average_gradient(const GradientRequest& r) {
  return {
      r.graph.add_value({.type = "GlobalAveragePoolGrad",
                         .domain = kOwnDomain,
                         .inputs = {r.dy[0]},
                         .attributes = {{"x_shape", to_dims(spatial_of(r.graph.shape(r.x(0))))}}},
                        gradient_site(r, 0))};
}

// One window over the whole plane; the maximum is recomputed, as in MaxPool's gradient.
std::vector<Value> global_max_gradient(const GradientRequest& r) {
  Window window;
  window.kernel = to_dims(spatial_of(r.graph.shape(r.x(0))));
  return {r.graph.add_value({.type = "MaxPoolGrad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], r.x(0)},
                             .attributes = write_window(window)},
                            gradient_site(r, 0))};
}

// A comparison or an addition for each position of a window, padding included.
Flops window_flops(const Node& node, double windows) {
  AttributeReader attributes = node.attributes();
  double each = 1;
  for (const int64_t size : read_window(attributes).kernel) each *= static_cast<double>(size);
  return {.others = each * windows};
}
Flops pool_flops(const Node& node) { return window_flops(node, elements_out(node, 0)); }
Flops pool_grad_flops(const Node& node) { return window_flops(node, elements_in(node, 0)); }

const std::vector<FormalAttribute> kWindowAttributes{
    {"kernel_shape", AttributeKind::integers}, {"strides", AttributeKind::integers},
    {"pads", AttributeKind::integers},         {"dilations", AttributeKind::integers},
    {"ceil_mode", AttributeKind::integer},     {"count_include_pad", AttributeKind::integer},
    {"x_shape", AttributeKind::integers}};

std::string past_padding(const PoolAttrs& attrs, const Dims& x, const Dims& y) {
  if (!attrs.count_include_pad) return "";
  const Window window =
      resolved(attrs.window, attrs.window.kernel, to_shape(Dims(x.begin() + 2, x.end())));
  for (std::size_t i = 0; i < window.kernel.size(); ++i)
    if (covering_end_pad(window, i, x[i + 2], y[i + 2]) > window.pads[window.kernel.size() + i])
      return "takes no count_include_pad with windows that reach past the padding";
  return "";
}

}  // namespace

PoolAttrs read_pool(AttributeReader& attributes) {
  PoolAttrs attrs;
  attrs.window = read_window(attributes);
  attrs.count_include_pad = attributes.integer("count_include_pad", 0) != 0;
  return attrs;
}

PoolAttrs pool_attrs_of(const KernelRequest& request) {
  AttributeReader reader = request.attributes();
  return read_pool(reader);
}

PoolAttrs global_window(const Dims& x) {
  PoolAttrs attrs;
  attrs.window.kernel = Dims(x.begin() + 2, x.end());
  return attrs;
}

Value max_pool(Graph& graph, Value x, const Window& window, const Site& site) {
  return graph.add_value({.type = "MaxPool", .inputs = {x}, .attributes = write_window(window)},
                         site);
}

Value global_average_pool(Graph& graph, Value x, const Site& site) {
  return graph.add_value({.type = "GlobalAveragePool", .inputs = {x}}, site);
}

std::string past_padding(const KernelRequest& request) {
  return past_padding(pool_attrs_of(request), request.in[0].dims, request.out[0].dims);
}

std::string past_padding_back(const KernelRequest& request) {
  return past_padding(pool_attrs_of(request), request.out[0].dims, request.in[0].dims);
}

std::vector<Op> pool_ops() {
  return {
      {.type = "GlobalMaxPool",
       .domain = "",
       .law = global_law,
       .differentiable = Differentiable::yes,
       .gradient = global_max_gradient,
       .flops = per_operand<1>,
       .narrow = {Narrow::follows}},
      {.type = "MaxPool",
       .domain = "",
       .law = pool_law,
       .differentiable = Differentiable::yes,
       .gradient = max_gradient,
       .flops = pool_flops,
       .narrow = {Narrow::follows}},
      {.type = "AveragePool",
       .domain = "",
       .law = pool_law,
       .differentiable = Differentiable::yes,
       .gradient = average_gradient,
       .flops = pool_flops,
       .narrow = {Narrow::follows}},
      {.type = "GlobalAveragePool",
       .domain = "",
       .law = global_law,
       .differentiable = Differentiable::yes,
       .gradient = global_average_gradient,
       .flops = per_operand<1>,
       .narrow = {Narrow::follows}},
      {.type = "MaxPoolGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"Each window's dy goes to its first maximum.",
                              {{"dy"}, {"x"}},
                              {{"dx"}},
                              kWindowAttributes},
       .law = max_grad_law,
       .flops = pool_grad_flops,
       .narrow = {Narrow::follows}},
      {.type = "MaxPoolPlaces",
       .domain = kOwnDomain,
       .no_body = kOnlyPlanned,
       .signature = Signature{"MaxPool, and the number of each maximum in its window.",
                              {{"x"}},
                              {{"y"}, {"places", "U"}},
                              kWindowAttributes},
       .law = places_law,
       .flops = pool_flops,
       .narrow = {Narrow::follows}},
      {.type = "MaxPoolPlacesGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyPlanned,
       .signature = Signature{"Each window's dy goes to the kept index of its maximum.",
                              {{"dy"}, {"places", "U"}},
                              {{"dx"}},
                              kWindowAttributes},
       .law = places_grad_law,
       .flops = per_operand<1>,
       .narrow = {Narrow::follows}},
      {.type = "AveragePoolGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           Signature{
               "Each window's dy is spread over it evenly.", {{"dy"}}, {{"dx"}}, kWindowAttributes},
       .law = average_grad_law,
       .flops = pool_grad_flops,
       .narrow = {Narrow::follows}},
      {.type = "GlobalAveragePoolGrad",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature = Signature{"dy / count at every position.",
                              {{"dy"}},
                              {{"dx"}},
                              {{"x_shape", AttributeKind::integers, true}}},
       .law = global_grad_law,
       .narrow = {Narrow::follows}}};
}

}  // namespace lockstep
