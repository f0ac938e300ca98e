// SPDX-License-Identifier: Apache-2.0
// Gather (slices along an axis), GatherElements and ScatterElements (element by element), GatherND
// and ScatterND (slices by coordinates), TopK, OneHot, Trilu. An element selected by several
// indices receives the sum of their gradients:
//   GatherGrad         (dy, shape of x, indices) -> dx
//   GatherElementsGrad (dy, shape of x, indices) -> dx
//   GatherNDGrad       (dy, shape of x, indices) -> dx
#include "operators/gather/gather.h"

#include <optional>

#include "graph/listed.h"
#include "lockstep/operators.h"
#include "operators/gather/scatter_gradient.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

std::vector<Value> gather_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  Site site = gradient_site(r, 0);
  return {r.graph.add_value({.type = r.node.type() + "Grad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], shape_of(r.graph, r.x(0), site), r.x(1)},
                             .attributes = {{"axis", attributes.integer("axis", 0)}}},
                            site),
          none};
}

std::vector<Value> gather_nd_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  Site site = gradient_site(r, 0);
  return {r.graph.add_value({.type = "GatherNDGrad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], shape_of(r.graph, r.x(0), site), r.x(1)},
                             .attributes = {{"batch_dims", attributes.integer("batch_dims", 0)}}},
                            site),
          none};
}

// Scatters the gradients to the selected elements.
std::vector<Value> top_k_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  Site site = gradient_site(r, 0);
  if (!r.dy[0]) return {};
  return {r.graph.add_value({.type = "GatherElementsGrad",
                             .domain = kOwnDomain,
                             .inputs = {r.dy[0], shape_of(r.graph, r.x(0), site), r.y(1)},
                             .attributes = {{"axis", attributes.integer("axis", -1)}}},
                            site),
          none};
}

std::vector<Value> trilu_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  return {r.graph.add_value({.type = "Trilu",
                             .inputs = {r.dy[0], r.x(1)},
                             .attributes = {{"upper", attributes.integer("upper", 1)}}},
                            gradient_site(r, 0)),
          none};
}

// ONNX's inference leaves the new dimension open even if the depth is known.
void one_hot_law(Inference& inference) {
  const Literal* depth = inference.constants[1];
  const TensorType& indices = inference.input(0);
  if (!depth || !indices.ranked) return;
  check(depth->count() == 1, "depth has ", depth->count(), " elements, should have one");
  const double size = depth->dtype() == DType::float32 ? depth->values<float>()[0]
                      : depth->dtype() == DType::float64
                          ? depth->values<double>()[0]
                          : static_cast<double>(depth->integers()[0]);
  check(size >= 0 && size < 9e15, "depth is ", size);
  Shape shape = indices.shape;
  int64_t axis =
      normal_axes({inference.attributes.integer("axis", -1)}, indices.shape.size() + 1)[0];
  shape.insert(shape.begin() + axis, Dim(static_cast<int64_t>(size)));
  inference.outputs[0] = {inference.input(2).dtype, shape};
}

void check_same(Inference& inference, std::size_t operand, const Shape& expected,
                const char* what) {
  check(may_be(inference.input(operand).shape, expected), what, " are ", inference.input(operand),
        ", should be ", expected);
}

// Checks element-wise indices: except along `axis`, they may not be larger than x.
void check_elements(Inference& inference, const TensorType& x, std::size_t operand) {
  const TensorType& indices = inference.input(operand);
  if (!x.ranked || !indices.ranked) return;
  check(x.shape.size() == indices.shape.size(), "indices are ", indices, ", the data ", x);
  const std::size_t axis =
      normal_axes({inference.attributes.integer("axis", 0)}, x.shape.size())[0];
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    check(d == axis || !x.shape[d].known() || !indices.shape[d].known() ||
              indices.shape[d].size() <= x.shape[d].size(),
          "indices are ", indices, ", larger than the data, ", x, ", along axis ", d);
}

void gather_elements_law(Inference& inference) { check_elements(inference, inference.input(0), 1); }

void scatter_elements_law(Inference& inference) {
  same_as_first(inference);
  check_elements(inference, inference.input(0), 1);
  if (inference.input(1).ranked && inference.input(2).ranked)
    check_same(inference, 2, inference.input(1).shape, "updates");
}

// The indices' dimensions replace the axis that they index.
void gather_grad_law(Inference& inference) {
  shape_from_operand(inference);
  const TensorType &x = inference.outputs[0], &indices = inference.input(2);
  if (!x.ranked || !indices.ranked) return;
  const std::size_t axis =
      normal_axes({inference.attributes.integer("axis", 0)}, x.shape.size())[0];
  Shape picked = x.shape;
  picked.erase(picked.begin() + static_cast<std::ptrdiff_t>(axis));
  picked.insert(picked.begin() + static_cast<std::ptrdiff_t>(axis), indices.shape.begin(),
                indices.shape.end());
  demand_shape(inference, 0, picked);
}

void gather_elements_grad_law(Inference& inference) {
  shape_from_operand(inference);
  check_elements(inference, inference.outputs[0], 2);
  if (inference.input(2).ranked && inference.input(0).ranked)
    check_same(inference, 0, inference.input(2).shape, "gradients");
}

// Selection by coordinates. After `batch` equal dimensions, the last dimension of the indices is
// the number of coordinates. Returns the shape of the result; empty if not known yet.
std::optional<Shape> picked(const TensorType& x, const TensorType& indices, int64_t batch) {
  if (!x.ranked || !indices.ranked) return std::nullopt;
  const Shape &data = x.shape, &tuples = indices.shape;
  check(!tuples.empty() && batch >= 0 && batch < static_cast<int64_t>(tuples.size()) &&
            batch <= static_cast<int64_t>(data.size()),
        "batch_dims is ", batch, " for indices ", indices, " of ", x);
  for (int64_t d = 0; d < batch; ++d)
    check(may_be(data[d], tuples[d]), "indices are ", indices, " of ", x, "; their first ", batch,
          " dimensions should be the same");
  if (!tuples.back().known()) return std::nullopt;
  const int64_t end = batch + tuples.back().size();
  check(end <= static_cast<int64_t>(data.size()), "indices ", indices, " have ",
        tuples.back().size(), " coordinates, the data is ", x);
  Shape shape(tuples.begin(), tuples.end() - 1);
  shape.insert(shape.end(), data.begin() + end, data.end());
  return shape;
}

void gather_nd_law(Inference& inference) {
  picked(inference.input(0), inference.input(1), inference.attributes.integer("batch_dims", 0));
}

void scatter_nd_law(Inference& inference) {
  same_as_first(inference);
  if (const auto shape = picked(inference.input(0), inference.input(1), 0);
      shape && inference.input(2).ranked)
    check_same(inference, 2, *shape, "updates");
}

void gather_nd_grad_law(Inference& inference) {
  shape_from_operand(inference);
  if (const auto shape = picked(inference.outputs[0], inference.input(2),
                                inference.attributes.integer("batch_dims", 0));
      shape && inference.input(0).ranked)
    check_same(inference, 0, *shape, "gradients");
}

// The diagonal's number is optional and has one element.
void trilu_law(Inference& inference) {
  same_as_first(inference);
  const TensorType& x = inference.input(0);
  check(!x.ranked || x.shape.size() >= 2, "the data is ", x, ", should be matrices");
  demand_type(inference, 1, DType::int64);
  if (inference.inputs.size() < 2 || !inference.inputs[1] || !inference.input(1).ranked) return;
  const bool scalar = inference.input(1).shape.empty();
  check_same(inference, 1, scalar ? Shape{} : Shape{1}, "diagonals");
}

Op scatter_back(const char* type, ShapeLaw law, const char* attribute = "axis") {
  return {.type = type,
          .domain = kOwnDomain,
          .no_body = kOnlyTrains,
          .signature = Signature{"Adds dy to the elements that were gathered.",
                                 {{"dy"}, {"shape", "I"}, {"indices", "I"}},
                                 {{"dx"}},
                                 {{attribute, AttributeKind::integer}}},
          .law = law,
          .flops = per_operand<1>};
}

// Keeps the sizes of the other axes, which ONNX drops if the number of elements is computed.
void top_k_law(Inference& inference) {
  const TensorType& x = inference.input(0);
  if (!x.ranked || x.shape.empty()) return;
  const TensorType& first = inference.outputs[0];
  if (first.ranked && is_static(first.shape)) return;
  const std::size_t axis =
      normal_axes({inference.attributes.integer("axis", -1)}, x.shape.size())[0];
  Shape shape = x.shape;
  const auto count = content_of(inference, 1);
  const bool is_said = count && count->size() == 1 && !(number_of(count->front()).value_or(0) < 0);
  shape[axis] = is_said ? count->front() : Dim("?");
  for (TensorType& output : inference.outputs) output = {output.dtype, shape};
}

}  // namespace

Value gather(Graph& graph, Value x, Value indices, int64_t axis, const Site& site) {
  return graph.add_value({.type = "Gather", .inputs = {x, indices}, .attributes = {{"axis", axis}}},
                         site);
}

Value gather_elements(Graph& graph, Value x, Value indices, int64_t axis, const Site& site) {
  return graph.add_value(
      {.type = "GatherElements", .inputs = {x, indices}, .attributes = {{"axis", axis}}}, site);
}

Best top_k(Graph& graph, Value x, int64_t k, int64_t axis, const Site& site) {
  const Value count = graph.constant(site.name + "_k", Literal::vector({k}));
  const Node node = graph.add(
      {.type = "TopK", .inputs = {x, count}, .attributes = {{"axis", axis}}, .outputs = 2}, site);
  return {node.outputs()[0], node.outputs()[1]};
}

Refusal reduces_by(std::vector<std::string> known) {
  return [known = std::move(known)](const KernelRequest& request) -> std::string {
    AttributeReader attributes = request.attributes();
    const std::string reduction = attributes.text("reduction", "none");
    if (std::find(known.begin(), known.end(), reduction) != known.end()) return "";
    return join("takes a reduction of ", listed(known), ", not '", reduction, "'");
  };
}

std::vector<Op> gather_ops() {
  auto picking = [](const char* type, ContentLaw content = nullptr, ShapeLaw law = nullptr) {
    return Op{.type = type,
              .domain = "",
              .law = law,
              .content = content,
              .differentiable = Differentiable::yes,
              .gradient = gather_gradient,
              .flops = no_flops};
  };
  return {picking("Gather", content_of_gather),
          picking("GatherElements", nullptr, gather_elements_law),
          {.type = "ScatterElements",
           .domain = "",
           .law = scatter_elements_law,
           .differentiable = Differentiable::yes,
           .gradient = scatter_elements_gradient,
           .flops = no_flops},
          {.type = "GatherND",
           .domain = "",
           .law = gather_nd_law,
           .differentiable = Differentiable::yes,
           .gradient = gather_nd_gradient,
           .flops = no_flops},
          {.type = "ScatterND",
           .domain = "",
           .law = scatter_nd_law,
           .differentiable = Differentiable::yes,
           .gradient = scatter_nd_gradient,
           .flops = no_flops},
          {.type = "TopK",
           .domain = "",
           .law = top_k_law,
           .differentiable = Differentiable::yes,
           .gradient = top_k_gradient,
           .flops = per_operand<1>},
          {.type = "OneHot",
           .domain = "",
           .law = one_hot_law,
           .differentiable = Differentiable::zero,
           .flops = no_flops},
          {.type = "Trilu",
           .domain = "",
           .law = trilu_law,
           .differentiable = Differentiable::yes,
           .gradient = trilu_gradient,
           .flops = no_flops,
           .may_alias = {{0, 0}}},
          scatter_back("GatherGrad", gather_grad_law),
          scatter_back("GatherElementsGrad", gather_elements_grad_law),
          scatter_back("GatherNDGrad", gather_nd_grad_law, "batch_dims")};
}

}  // namespace lockstep
