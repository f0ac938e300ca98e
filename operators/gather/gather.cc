// Gather (slices along an axis), GatherElements and ScatterElements (element by element), GatherND
// and ScatterND (slices by coordinates), TopK, OneHot, Trilu. What several indices pick receives
// the sum of their gradients:
//   GatherGrad         (dy, shape of x, indices) -> dx
//   GatherElementsGrad (dy, shape of x, indices) -> dx
//   GatherNDGrad       (dy, shape of x, indices) -> dx
#include "operators/gather/gather.h"

#include "operators/room.h"
#include "operators/shape/shape.h"

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

// What was overwritten has no gradient; what was written takes its own from where it went. (Where
// two updates go to one place ONNX does not say which stays, so neither do we.)
std::vector<Value> scatter_gradient(const GradientRequest& r, const char* gather,
                                    const Attributes& gathering, const Attributes& scattering) {
  auto attributes = r.node.attributes();
  const std::string reduction = attributes.text("reduction", "none");
  check(reduction == "none" || reduction == "add", r.node.description(), ": reduction '", reduction,
        "' has no gradient");
  Graph& graph = r.graph;
  std::vector<Value> dx(3);
  if (r.wanted[0] && reduction == "add") dx[0] = r.dy[0];
  if (r.wanted[0] && reduction == "none") {
    Site site = gradient_site(r, 0);
    Value zero = scalar_like(graph, r.x(2), 0, "zero");
    dx[0] = graph.add_value({.type = r.node.type(),
                             .inputs = {r.dy[0], r.x(1), expand_like(graph, zero, r.x(2), site)},
                             .attributes = scattering},
                            site);
  }
  if (r.wanted[2])
    dx[2] = graph.add_value({.type = gather, .inputs = {r.dy[0], r.x(1)}, .attributes = gathering},
                            gradient_site(r, 2));
  return dx;
}

std::vector<Value> scatter_elements_gradient(const GradientRequest& r) {
  auto attributes = r.node.attributes();
  const Attributes axis{{"axis", attributes.integer("axis", 0)}};
  return scatter_gradient(r, "GatherElements", axis, axis);
}

std::vector<Value> scatter_nd_gradient(const GradientRequest& r) {
  return scatter_gradient(r, "GatherND", {}, {});
}

// The values came from where the indices say.
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

// ONNX leaves the new dimension open even where the depth is known.
void one_hot_law(Inference& inference) {
  const Literal* depth = inference.constants[1];
  const TensorType& indices = inference.input(0);
  if (!depth || !indices.ranked) return;
  int64_t size = 0;
  switch (depth->dtype()) {
    case DType::float32:
      size = static_cast<int64_t>(depth->values<float>()[0]);
      break;
    case DType::float64:
      size = static_cast<int64_t>(depth->values<double>()[0]);
      break;
    default:
      size = depth->integers()[0];
  }
  Shape shape = indices.shape;
  int64_t axis =
      normal_axes({inference.attributes.integer("axis", -1)}, indices.shape.size() + 1)[0];
  shape.insert(shape.begin() + axis, Dim(size));
  inference.outputs[0] = {inference.input(2).dtype, shape};
}

Op scatter_back(const char* type, const char* attribute = "axis") {
  return {.type = type,
          .domain = kOwnDomain,
          .signature = Signature{"Adds dy to where it was gathered from.",
                                 {{"dy"}, {"shape", "I"}, {"indices", "I"}},
                                 {{"dx"}},
                                 {{attribute, AttributeKind::integer}}},
          .law = shape_from_operand};
}

}  // namespace

Value gather(Graph& graph, Value x, Value indices, int64_t axis, const Site& site) {
  return graph.add_value({.type = "Gather", .inputs = {x, indices}, .attributes = {{"axis", axis}}},
                         site);
}

std::vector<Op> gather_ops() {
  auto picking = [](const char* type, ContentLaw content = nullptr) {
    return Op{.type = type,
              .domain = "",
              .content = content,
              .differentiable = Differentiable::yes,
              .gradient = gather_gradient};
  };
  return {
      picking("Gather", content_of_gather),
      picking("GatherElements"),
      {.type = "ScatterElements",
       .domain = "",
       .law = same_as_first,
       .differentiable = Differentiable::yes,
       .gradient = scatter_elements_gradient},
      {.type = "GatherND",
       .domain = "",
       .differentiable = Differentiable::yes,
       .gradient = gather_nd_gradient},
      {.type = "ScatterND",
       .domain = "",
       .law = same_as_first,
       .differentiable = Differentiable::yes,
       .gradient = scatter_nd_gradient},
      {.type = "TopK",
       .domain = "",
       .differentiable = Differentiable::yes,
       .gradient = top_k_gradient},
      {.type = "OneHot", .domain = "", .law = one_hot_law, .differentiable = Differentiable::zero},
      {.type = "Trilu",
       .domain = "",
       .law = same_as_first,
       .differentiable = Differentiable::yes,
       .gradient = trilu_gradient,
       .may_alias = {{0, 0}}},
      scatter_back("GatherGrad"),
      scatter_back("GatherElementsGrad"),
      scatter_back("GatherNDGrad", "batch_dims")};
}

}  // namespace lockstep
