// SPDX-License-Identifier: Apache-2.0
// Conv      (x, w, bias) -> y
// ConvGradX (dy, w)      -> dx   attribute x_shape: the spatial sizes, left open by strides
// ConvGradW (x, dy)      -> dw   attribute kernel_shape: the kernel's sizes, left open by strides
// The backward pass needs only x and w; the bias gradient is a standard ReduceSum.
//
// These operators occur in plans only (fuse_convolutions, fuse_gradient_sums):
//   FusedConv (x, w, bias, z) -> y, sums, squares   Conv, plus z, then a ReLU if relu = 1; and the
//                                                   sums of each channel of y and of its squares
//   FusedConvGradX (dy, w, z) -> dx + z
//
// ConvTranspose (x, w, bias) -> y computes ConvGradX as its forward pass. Its gradients are a Conv
// and a ConvGradW with data and gradient exchanged.
#include "operators/conv/conv.h"

#include <algorithm>
#include <limits>

#include "lockstep/operators.h"
#include "operators/conv/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

void check_group(const ConvAttrs& attrs) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  check(attrs.group >= 1 && attrs.group <= kMost, "group is ", attrs.group);
}

// The shape of the result, for data and weights that match.
Shape convolved(const ConvAttrs& attrs, const Shape& x, const Shape& w) {
  check(x.size() == w.size() && x.size() >= 3, "data has ", x.size(), " dimensions, weight has ",
        w.size());
  check_group(attrs);
  check(!x[1].known() || x[1].size() % attrs.group == 0, x[1].size(),
        " channels do not divide into ", attrs.group, " groups");
  check(!x[1].known() || !w[1].known() || x[1].size() / attrs.group == w[1].size(),
        "weight expects ", w[1].size() * attrs.group, " channels, data has ", x[1].size());
  check(!w[0].known() || w[0].size() % attrs.group == 0, w[0].size(),
        " output channels do not divide into ", attrs.group, " groups");
  Window window = resolved(attrs.window, to_dims(spatial_of(w)), spatial_of(x));
  Shape y = {x[0], w[0]};
  for (std::size_t i = 0; i + 2 < x.size(); ++i)
    y.push_back(x[i + 2].known() ? Dim(output_size(window, i, x[i + 2].size())) : Dim("?"));
  return y;
}

// Checks channel counts, bias length and groups, which ONNX does not check.
void check_conv(Inference& inference, const ConvAttrs& attrs) {
  inference.require_ranked();
  inference.attributes.done();
  const Shape& w = inference.input(1).shape;
  inference.outputs[0].shape = convolved(attrs, inference.input(0).shape, w);
  inference.outputs[0].ranked = true;
  if (inference.inputs.size() > 2 && inference.inputs[2]) {
    const Shape& bias = inference.input(2).shape;
    check(bias == Shape{w[0]}, "bias is ", bias, ", should be ", Shape{w[0]},
          bias.size() == 2 ? "; PyTorch 2.15 exports some Conv3d(bias=False) with this wrong bias, "
                             "but Conv3d(bias=True) correctly"
                           : "");
  }
}

void conv_law(Inference& inference) { check_conv(inference, read_conv(inference.attributes)); }

void fused_conv_law(Inference& inference) {
  check_conv(inference, read_fused_conv(inference.attributes).conv);
  inference.outputs[0].dtype = inference.input(0).dtype;
  demand_shape(inference, ConvIn::z, inference.outputs[0].shape);
  check(inference.outputs.size() != 2, "should output both sums and squares, or neither");
  for (std::size_t i = 1; i < inference.outputs.size(); ++i)
    inference.outputs[i] = {DType::float32, Shape{inference.input(1).shape[0]}};
}

// Appends the sizes that strides leave open to `shape`.
Shape with_sizes(Shape shape, const char* attribute, const std::vector<int64_t>& sizes,
                 std::size_t dims) {
  check(sizes.size() + 2 == dims, attribute, " ", sizes, " has the wrong length, should have ",
        dims - 2, " entries");
  for (int64_t size : sizes) {
    check(size > 0, attribute, " ", sizes, " has ", size);
    shape.push_back(size);
  }
  return shape;
}

void grad_x_law(Inference& inference) {
  inference.require_ranked();
  for (std::size_t i : {0, 1}) demand_at_least_dims(inference, i, 3);
  ConvAttrs attrs = read_conv(inference.attributes);
  check_group(attrs);
  const Shape& dy = inference.input(0).shape;
  const Shape& w = inference.input(1).shape;
  int64_t channels = 0;
  check(!w[1].known() || !__builtin_mul_overflow(w[1].size(), attrs.group, &channels), "weight is ",
        w, " in ", attrs.group, " groups");
  const Shape dx = with_sizes({dy[0], w[1].known() ? Dim(channels) : Dim("?")}, "x_shape",
                              inference.attributes.integers("x_shape"), dy.size());
  demand_shape(inference, 0, convolved(attrs, dx, w));
  inference.outputs[0] = {inference.input(0).dtype, dx};
}

void fused_grad_x_law(Inference& inference) {
  grad_x_law(inference);
  const TensorType& z = inference.input(ConvGradXIn::z);
  check(z == inference.outputs[0], "z is ", z, ", should be ", inference.outputs[0]);
}

void grad_w_law(Inference& inference) {
  inference.require_ranked();
  for (std::size_t i : {0, 1}) demand_at_least_dims(inference, i, 3);
  ConvAttrs attrs = read_conv(inference.attributes);
  check_group(attrs);
  const Shape& x = inference.input(0).shape;
  const Shape& dy = inference.input(1).shape;
  const Shape dw = with_sizes({dy[1], x[1].known() ? Dim(x[1].size() / attrs.group) : Dim("?")},
                              "kernel_shape", attrs.window.kernel, x.size());
  demand_shape(inference, 1, convolved(attrs, x, dw));
  inference.outputs[0] = {inference.input(0).dtype, dw};
}

// Sums over all dimensions except the channels.
Value bias_gradient(const GradientRequest& r) {
  std::vector<int64_t> axes{0};
  for (std::size_t i = 2; i < r.graph.shape(r.dy[0]).size(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  return reduce_sum(r.graph, r.dy[0], axes, false, gradient_site(r, 2));
}

std::vector<Value> conv_gradient(const GradientRequest& r) {
  AttributeReader reader = r.node.attributes();
  ConvAttrs attrs = read_conv(reader);
  const Shape x = r.graph.shape(r.x(0));
  const Shape w = r.graph.shape(r.x(1));
  Window window = resolved(attrs.window, to_dims(spatial_of(w)), spatial_of(x));
  const Attributes attributes = write_conv({window, attrs.group});

  std::vector<Value> dx(3);
  if (r.wanted[0]) {
    Attributes with_shape = attributes;
    with_shape.push_back({"x_shape", to_dims(spatial_of(x))});
    dx[0] = r.graph.add_value({.type = "ConvGradX",
                               .domain = kOwnDomain,
                               .inputs = {r.dy[0], r.x(1)},
                               .attributes = with_shape},
                              gradient_site(r, 0));
  }
  if (r.wanted[1])
    dx[1] = r.graph.add_value({.type = "ConvGradW",
                               .domain = kOwnDomain,
                               .inputs = {r.x(0), r.dy[0]},
                               .attributes = attributes},
                              gradient_site(r, 1));
  if (r.x(2) && r.wanted[2]) dx[2] = bias_gradient(r);
  return dx;
}

void conv_transpose_law(Inference& inference) {
  inference.require_ranked();
  const Shape& x = inference.input(0).shape;
  const Shape& w = inference.input(1).shape;
  const int64_t group = inference.attributes.integer("group", 1);
  check(x.size() == w.size() && x.size() >= 3, "data has ", x.size(), " dimensions, weight has ",
        w.size());
  check(x[1] == w[0] || !x[1].known(), "weight expects ", w[0].size(), " channels, data has ",
        x[1].size());
  TransposedWindow t = read_transposed(inference.attributes, x, w);
  Shape y{x[0], w[1].size() * group};
  for (int64_t size : t.output) y.push_back(size);
  if (inference.inputs.size() > 2 && inference.inputs[2])
    check(inference.input(2).shape == Shape{y[1]}, "bias is ", inference.input(2).shape,
          ", should be ", Shape{y[1]});
  inference.outputs[0] = {inference.input(0).dtype, y};
}

std::vector<Value> conv_transpose_gradient(const GradientRequest& r) {
  AttributeReader reader = r.node.attributes();
  const int64_t group = reader.integer("group", 1);
  const Shape x = r.graph.shape(r.x(0));
  Window window = read_transposed(reader, x, r.graph.shape(r.x(1))).window;
  // The window of a convolution from y to x, with end padding such that windows cover x exactly.
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t y = r.graph.shape(r.y(0))[i + 2].size();
    window.pads[window.kernel.size() + i] =
        std::max<int64_t>(0, covering_end_pad(window, i, y, x[i + 2].size()));
  }
  std::vector<Value> dx(3);
  if (r.wanted[0])
    dx[0] = conv(r.graph, r.dy[0], r.x(1), none, {window, group}, gradient_site(r, 0));
  if (r.wanted[1]) {
    dx[1] = r.graph.add_value({.type = "ConvGradW",
                               .domain = kOwnDomain,
                               .inputs = {r.dy[0], r.x(0)},
                               .attributes = write_conv({window, group})},
                              gradient_site(r, 1));
  }
  if (r.x(2) && r.wanted[2]) dx[2] = bias_gradient(r);
  return dx;
}

std::vector<FormalAttribute> attributes_with(FormalAttribute own) {
  return {{"kernel_shape", AttributeKind::integers}, {"strides", AttributeKind::integers},
          {"pads", AttributeKind::integers},         {"dilations", AttributeKind::integers},
          {"group", AttributeKind::integer},         std::move(own)};
}

Signature grad_signature(const char* doc, std::vector<Formal> inputs, const char* output) {
  return {
      doc, std::move(inputs), {{output}}, attributes_with({"x_shape", AttributeKind::integers})};
}

}  // namespace

ConvAttrs read_conv(AttributeReader& attributes) {
  ConvAttrs attrs;
  attrs.window = read_window(attributes);
  attrs.group = attributes.integer("group", 1);
  return attrs;
}

Attributes write_conv(const ConvAttrs& attrs) {
  Attributes attributes = write_window(attrs.window);
  if (attrs.group != 1) attributes.push_back({"group", attrs.group});
  return attributes;
}

FusedConvAttrs read_fused_conv(AttributeReader& attributes) {
  FusedConvAttrs attrs;
  attrs.conv = read_conv(attributes);
  attrs.relu = attributes.integer("relu", 0) != 0;
  return attrs;
}

Attributes write_fused_conv(const FusedConvAttrs& attrs) {
  Attributes attributes = write_conv(attrs.conv);
  if (attrs.relu) attributes.push_back({"relu", int64_t{1}});
  return attributes;
}

TransposedWindow read_transposed(AttributeReader& attributes, const Shape& x, const Shape& w) {
  Window window = read_window(attributes);
  std::vector<int64_t> extra = attributes.integers("output_padding");
  std::vector<int64_t> wanted = attributes.integers("output_shape");
  const std::string auto_pad = window.auto_pad;
  window.auto_pad = "NOTSET";
  window = resolved(window, to_dims(spatial_of(w)), spatial_of(x));
  const std::size_t rank = window.kernel.size();
  extra.resize(rank, 0);
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  check(wanted.empty() || wanted.size() == rank, "output_shape ", wanted, " should have ", rank,
        " entries");
  TransposedWindow result{window, {}};
  for (std::size_t i = 0; i < rank; ++i) {
    check(x[i + 2].known(), "spatial sizes must be known");
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t full = window.strides[i] * (x[i + 2].size() - 1) + extra[i] + reach;
    if (auto_pad.rfind("SAME", 0) == 0 || !wanted.empty()) {
      const int64_t output = wanted.empty() ? x[i + 2].size() * window.strides[i] : wanted[i];
      const int64_t total = std::max<int64_t>(0, full - output);
      const int64_t begin = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      result.window.pads[i] = begin;
      result.window.pads[rank + i] = total - begin;
      result.output.push_back(output);
    } else {
      result.output.push_back(full - window.pads[i] - window.pads[rank + i]);
    }
    check(result.output[i] > 0, "the output would have size ", result.output[i]);
  }
  return result;
}

Value conv(Graph& graph, Value x, Value w, Value bias, const ConvAttrs& attrs, const Site& site) {
  return graph.add_value({.type = "Conv", .inputs = {x, w, bias}, .attributes = write_conv(attrs)},
                         site);
}

Value conv_transpose(Graph& graph, Value x, Value w, Value bias, const ConvAttrs& attrs,
                     const Site& site) {
  return graph.add_value(
      {.type = "ConvTranspose", .inputs = {x, w, bias}, .attributes = write_conv(attrs)}, site);
}

std::vector<Op> conv_ops() {
  return {
      {.type = "ConvTranspose",
       .domain = "",
       .law = conv_transpose_law,
       .differentiable = Differentiable::yes,
       .gradient = conv_transpose_gradient,
       .flops = conv_transpose_flops,
       .narrow = {Narrow::always}},
      {.type = "Conv",
       .domain = "",
       .law = conv_law,
       .differentiable = Differentiable::yes,
       .gradient = conv_gradient,
       .flops = conv_flops,
       .narrow = {Narrow::always}},
      {.type = "FusedConv",
       .domain = kOwnDomain,
       .no_body = kOnlyPlanned,
       .signature =
           Signature{"Convolution, addition, ReLU and sums of each channel.",
                     {{"x"}, {"w"}, {"bias", "T", Arity::optional}, {"z", "T", Arity::optional}},
                     {{"y"}, {"sums", "U", Arity::optional}, {"squares", "U", Arity::optional}},
                     attributes_with({"relu", AttributeKind::integer})},
       .law = fused_conv_law,
       .flops = conv_flops,
       .narrow = {Narrow::always}},
      {.type = "ConvGradX",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           grad_signature("Gradient of Conv with respect to its data.", {{"dy"}, {"w"}}, "dx"),
       .law = grad_x_law,
       .flops = conv_grad_x_flops,
       .narrow = {Narrow::always}},
      {.type = "FusedConvGradX",
       .domain = kOwnDomain,
       .no_body = kOnlyPlanned,
       .signature =
           grad_signature("ConvGradX, added to another gradient.", {{"dy"}, {"w"}, {"z"}}, "dx"),
       .law = fused_grad_x_law,
       .flops = conv_grad_x_flops,
       .may_alias = {{0, 2}},
       .narrow = {Narrow::always}},
      {.type = "ConvGradW",
       .domain = kOwnDomain,
       .no_body = kOnlyTrains,
       .signature =
           grad_signature("Gradient of Conv with respect to its weight.", {{"x"}, {"dy"}}, "dw"),
       .law = grad_w_law,
       .flops = conv_grad_w_flops,
       .narrow = {Narrow::always}}};
}

}  // namespace lockstep
