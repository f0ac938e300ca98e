// SPDX-License-Identifier: Apache-2.0
// Position-sensitive pooling (Dai et al. 2016) by Caffe2's rules: bin (i, j) of a RoI is the mean
// of whole cells of one channel, which belongs to this bin alone.
//   PSRoIPool     (x, rois, images) -> y
//   PSRoIPoolGrad (dy, shape of x, rois, images) -> dx
#include "operators/roi/position.h"

#include "lockstep/operators.h"
#include "operators/kit/body.h"
#include "operators/kit/flops.h"
#include "operators/roi/attributes.h"

namespace lockstep {
namespace {

constexpr int64_t kMostGrid = 1024;

PositionAttrs read_position(AttributeReader& attributes) {
  const PositionAttrs attrs{attributes.integer("group_size", 1),
                            attributes.number("spatial_scale", 1)};
  check(attrs.grid >= 1 && attrs.grid <= kMostGrid, "group_size is ", attrs.grid,
        ", should be 1 to ", kMostGrid);
  check_roi_scale(attrs.scale);
  return attrs;
}

Attributes write_position(const PositionAttrs& attrs) {
  return {{"group_size", attrs.grid}, {"spatial_scale", attrs.scale}};
}

// The result's shape for RoIs on a map [I, channels, ..].
Shape pooled_by_position(const Dim& rois, const Dim& channels, int64_t grid) {
  check(channels.known(), "the channels of x must be known");
  check(channels.size() % (grid * grid) == 0, "x has ", channels.size(),
        " channels, which do not divide into ", grid, " x ", grid, " bins");
  return {rois, channels.size() / (grid * grid), grid, grid};
}

void position_law(Inference& inference) {
  inference.require_ranked();
  const PositionAttrs attrs = read_position(inference.attributes);
  inference.attributes.done();
  demand_floats(inference, 0);
  demand_dims(inference, 0, 4);
  const Dim rois = demand_rois(inference, 1, 4);
  demand_indices(inference, 2, rois);
  const TensorType& x = inference.input(0);
  inference.outputs[0] = {x.dtype, pooled_by_position(rois, x.shape[1], attrs.grid)};
}

void position_grad_law(Inference& inference) {
  inference.require_ranked();
  const PositionAttrs attrs = read_position(inference.attributes);
  inference.attributes.done();
  shape_from_operand(inference);
  demand_floats(inference, 0);
  const Dim rois = demand_rois(inference, 2, 4);
  demand_indices(inference, 3, rois);
  demand_shape(inference, 0, {rois, "?", attrs.grid, attrs.grid});
  const TensorType& dx = inference.outputs[0];
  if (!dx.ranked) return;
  check(dx.shape.size() == 4, "x has ", dx.shape.size(), " dimensions, should have 4");
  demand_shape(inference, 0, pooled_by_position(rois, dx.shape[1], attrs.grid));
}

std::vector<Value> position_gradient(const GradientRequest& r) {
  const Site site = gradient_site(r, 0);
  AttributeReader reader = r.node.attributes();
  return {r.graph.add_value({.type = "PSRoIPoolGrad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], shape_of(r.graph, r.x(0), site), r.x(1), r.x(2)},
                             .attributes = write_position(read_position(reader))},
                            site),
          none, none};
}

// The body: 1 for the cells inside a bin, 0 for others, and sums as matrix products.
class PositionBody {
 public:
  PositionBody(const BodyRequest& r) : graph_(r.graph), x_(r.x(0)), rois_(r.x(1)), images_(r.x(2)) {
    AttributeReader reader = r.node.attributes();
    attrs_ = read_position(reader);
    if (graph_.type(rois_).dtype != DType::float32) rois_ = cast(graph_, rois_, DType::float32, {});
  }

  Value pooled() const {
    const int64_t grid = attrs_.grid, images = known_size(graph_, x_, 0);
    const int64_t channels = known_size(graph_, x_, 1) / (grid * grid);
    const DType dtype = graph_.type(x_).dtype;
    const Value rows = inside(1, 3, cells_of(2)), columns = inside(0, 2, cells_of(3));
    const Value counts = mul(graph_, reshape(graph_, cells(rows), {-1, grid, 1}, {}),
                             reshape(graph_, cells(columns), {-1, 1, grid}, {}), {});
    const Value divisor = standard(graph_, "Max", {counts, shared_number(graph_, 1)});
    // masks [bins, n, I h w] x maps [bins, I h w, channels]
    const Value of_image =
        cast(graph_, equal(graph_, reshape(graph_, images_, {-1, 1}, {}), numbers(images), {}),
             DType::float32, {});
    Value masks = mul(graph_, with_axes(rows, {2, 3, 5}), with_axes(columns, {1, 3, 4}), {});
    masks = mul(graph_, masks, reshape(graph_, of_image, {-1, 1, 1, images, 1, 1}, {}), {});
    masks = transpose(graph_, masks, {1, 2, 0, 3, 4, 5}, {});
    const Value rois = reshape(graph_, size_of_axis(graph_, rois_, 0), {1}, {});
    const Value bins = graph_.constant("bins", Literal::vector({grid * grid}));
    const Value rest = graph_.constant("rest", Literal::vector({-1}));
    masks = standard(graph_, "Reshape", {masks, concat(graph_, {bins, rois, rest}, 0)});
    Value maps = reshape(graph_, x_, {images, channels, grid, grid, -1}, {});
    maps = transpose(graph_, maps, {2, 3, 0, 4, 1}, {});
    maps = reshape(graph_, maps, {grid * grid, -1, channels}, {});
    if (dtype != DType::float32) maps = cast(graph_, maps, DType::float32, {});
    Value sums = matmul(graph_, masks, maps, {});
    sums = reshape(graph_, sums, {grid, grid, -1, channels}, {});
    sums = transpose(graph_, sums, {2, 3, 0, 1}, {});
    const Value means = div(graph_, sums, reshape(graph_, divisor, {-1, 1, grid, grid}, {}), {});
    return dtype == DType::float32 ? means : cast(graph_, means, dtype, {});
  }

 private:
  Value number(double value) const { return shared_number(graph_, value); }
  Value numbers(int64_t count) const {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < count; ++i) all.push_back(i);
    return graph_.constant("numbers", Literal::vector(all));
  }
  Value floats(int64_t first, int64_t count) const {
    std::vector<float> all;
    for (int64_t i = 0; i < count; ++i) all.push_back(static_cast<float>(first + i));
    return graph_.constant("places", Literal::of<float>(all, {1, count}));
  }

  Value with_axes(Value x, const std::vector<int64_t>& axes) const {
    return standard(graph_, "Unsqueeze", {x, graph_.constant("axes", Literal::vector(axes))});
  }
  // The numbers of the cells along an axis of the map, [1, 1, size].
  Value cells_of(int64_t axis) const {
    const Value places = standard(
        graph_, "Range",
        {shared_integer(graph_, 0), size_of_axis(graph_, x_, axis), shared_integer(graph_, 1)});
    return reshape(graph_, cast(graph_, places, DType::float32, {}), {1, 1, -1}, {});
  }

  // Rounds half away from zero, whereas ONNX's Round rounds half to even.
  Value rounded(Value x) const {
    const Value size = standard(graph_, "Abs", {x}), down = standard(graph_, "Floor", {size});
    const Value up =
        cast(graph_, standard(graph_, "GreaterOrEqual", {sub(graph_, size, down, {}), number(0.5)}),
             DType::float32, {});
    return mul(graph_, standard(graph_, "Sign", {x}), add(graph_, down, up, {}), {});
  }

  // 1 where a cell is inside a bin, along one axis: [n, grid, size].
  Value inside(int64_t low, int64_t high, Value places) const {
    const auto column = [&](int64_t at) { return slice(graph_, rois_, 1, at, at + 1, {}); };
    const Value start = mul(graph_, rounded(column(low)), number(attrs_.scale), {});
    const Value after = add(graph_, rounded(column(high)), number(1), {});
    const Value length = sub(graph_, mul(graph_, after, number(attrs_.scale), {}), start, {});
    const Value least = number(PositionAxis<float>::kLeastLength);
    const Value bin = div(graph_, standard(graph_, "Max", {length, least}),
                          number(static_cast<double>(attrs_.grid)), {});
    const auto edge = [&](const char* rounding, int64_t first) {
      const Value exact = add(graph_, mul(graph_, floats(first, attrs_.grid), bin, {}), start, {});
      return reshape(graph_, standard(graph_, rounding, {exact}), {-1, attrs_.grid, 1}, {});
    };
    const Value is = standard(graph_, "And",
                              {standard(graph_, "GreaterOrEqual", {places, edge("Floor", 0)}),
                               standard(graph_, "Less", {places, edge("Ceil", 1)})});
    return cast(graph_, is, DType::float32, {});
  }
  Value cells(Value inside) const { return reduce_sum(graph_, inside, {2}, false, {}); }

  Graph& graph_;
  Value x_, rois_, images_;
  PositionAttrs attrs_;
};

std::vector<Value> position_body(const BodyRequest& r) { return {PositionBody(r).pooled()}; }

}  // namespace

PositionProblem::PositionProblem(AttributeReader attributes, const Dims& map, int64_t count)
    : images(map[0]), height(map[2]), width(map[3]), rois(count) {
  const PositionAttrs attrs = read_position(attributes);
  grid = attrs.grid;
  scale = attrs.scale;
  channels = map[1] / (grid * grid);
}

Value position_pool(Graph& graph, Value x, Value rois, Value images, const PositionAttrs& attrs,
                    const Site& site) {
  return graph.add_value({.type = "PSRoIPool",
                          .domain = kOwnDomain,
                          .inputs = {x, rois, images},
                          .attributes = write_position(attrs)},
                         site);
}

std::vector<Op> position_ops() {
  const std::vector<FormalAttribute> attributes{{"group_size", AttributeKind::integer, true},
                                                {"spatial_scale", AttributeKind::number}};
  return {// Coordinates of boxes need more digits than 16-bit floats have.
          {.type = "PSRoIPool",
           .domain = kOwnDomain,
           .body = position_body,
           .signature = Signature{"Position-sensitive means over the bins of RoIs.",
                                  {{"x"}, {"rois", "R"}, {"images", "I"}},
                                  {{"y"}},
                                  attributes},
           .law = position_law,
           .differentiable = Differentiable::yes,
           .gradient = position_gradient,
           .narrow = {Narrow::follows, {1}}},
          {.type = "PSRoIPoolGrad",
           .domain = kOwnDomain,
           .no_body = kOnlyTrains,
           .signature = Signature{"Gradient of PSRoIPool.",
                                  {{"dy"}, {"shape", "I"}, {"rois", "R"}, {"images", "I"}},
                                  {{"dx"}},
                                  attributes},
           .law = position_grad_law,
           .flops = per_operand<1>,
           .narrow = {Narrow::follows, {2}}}};
}

}  // namespace lockstep
