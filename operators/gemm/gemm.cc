// SPDX-License-Identifier: Apache-2.0
#include "operators/gemm/gemm.h"

#include <algorithm>
#include <numeric>

#include "lockstep/operators.h"
#include "operators/kit/flops.h"
#include "operators/kit/operator_helpers.h"

namespace lockstep {
namespace {

// With P = op(A), Q = op(B): dP = alpha dY Q', dQ = alpha P' dY, and dA is dP or its transpose.
std::vector<Value> gemm_gradient(const GradientRequest& r) {
  GemmAttrs attrs = read_gemm(r.node.attributes());
  Value a = r.x(0), b = r.x(1), c = r.x(2), dy = r.dy[0];
  std::vector<Value> dx(3);
  GemmAttrs scaled{.alpha = attrs.alpha, .beta = 0};
  if (r.wanted[0]) {
    Site site = gradient_site(r, 0);
    GemmAttrs how = scaled;
    how.trans_a = attrs.trans_a && attrs.trans_b;
    how.trans_b = attrs.trans_a || !attrs.trans_b;
    dx[0] = attrs.trans_a ? gemm(r.graph, b, dy, none, how, site)
                          : gemm(r.graph, dy, b, none, how, site);
  }
  if (r.wanted[1]) {
    Site site = gradient_site(r, 1);
    GemmAttrs how = scaled;
    how.trans_a = attrs.trans_b || !attrs.trans_a;
    how.trans_b = attrs.trans_b && attrs.trans_a;
    dx[1] = attrs.trans_b ? gemm(r.graph, dy, a, none, how, site)
                          : gemm(r.graph, a, dy, none, how, site);
  }
  if (c && r.wanted[2]) {
    Site site = gradient_site(r, 2);
    Value dc = sum_to(r.graph, dy, c, site);
    dx[2] =
        attrs.beta == 1 ? dc : mul(r.graph, dc, scalar_like(r.graph, c, attrs.beta, "beta"), site);
  }
  return dx;
}

Value swapped(Graph& graph, Value x, const Site& site) {
  std::vector<int64_t> order(graph.shape(x).size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(graph, x, order, site);
}

// True if a Reshape to [-1, columns] is possible.
bool has_known_sizes(const Shape& matrix) {
  return std::ranges::all_of(matrix, [](const Dim& dim) { return dim.known() && dim.size() > 0; });
}

// The gradients of a product with a single right matrix. The rows of all examples form one matrix,
// so each gradient is one product.
std::vector<Value> gradient_by_rows(const GradientRequest& r) {
  Graph& graph = r.graph;
  const Value a = r.x(0), b = r.x(1);
  std::vector<Value> dx(2);
  const auto rows = [&](Value value, std::size_t side_of_b, const Site& site) {
    return graph.shape(value).size() == 2
               ? value
               : reshape(graph, value, {-1, graph.shape(b)[side_of_b].size()}, site);
  };
  if (r.wanted[0]) {
    const Site site = gradient_site(r, 0);
    const Value made = gemm(graph, rows(r.dy[0], 1, site), b, none, {.trans_b = true}, site);
    dx[0] = graph.shape(a).size() == 2 ? made : reshape_like(graph, made, a, site);
  }
  if (r.wanted[1]) {
    const Site site = gradient_site(r, 1);
    dx[1] = gemm(graph, rows(a, 0, site), rows(r.dy[0], 1, site), none, {.trans_a = true}, site);
  }
  return dx;
}

Value with_axes(Graph& graph, Value x, const std::vector<int64_t>& axes, const Site& site) {
  const Value where = graph.constant(site.name + "_axes", Literal::vector(axes));
  return graph.add_value({.type = "Unsqueeze", .inputs = {x, where}}, site);
}

// The gradients of a product with a vector: a row on the left, a column on the right. The product
// has no dimension for the vector.
std::vector<Value> gradient_with_vector(const GradientRequest& r) {
  Graph& graph = r.graph;
  const Value a = r.x(0), b = r.x(1);
  const std::size_t rank_a = graph.shape(a).size(), rank_b = graph.shape(b).size();
  const bool is_row = rank_a == 1, is_column = rank_b == 1;
  const auto rank = static_cast<int64_t>(std::max({rank_a, rank_b, std::size_t{2}}));
  std::vector<int64_t> dropped;
  if (is_row) dropped.push_back(rank - 2);
  if (is_column) dropped.push_back(rank - 1);
  std::vector<Value> dx(2);
  if (r.wanted[0]) {
    const Site site = gradient_site(r, 0);
    const Value dy = with_axes(graph, r.dy[0], dropped, site);
    const Value turned = is_column ? with_axes(graph, b, {0}, site) : swapped(graph, b, site);
    dx[0] = sum_to(graph, matmul(graph, dy, turned, site), a, site);
  }
  if (r.wanted[1]) {
    const Site site = gradient_site(r, 1);
    const Value dy = with_axes(graph, r.dy[0], dropped, site);
    Value product;
    if (is_column)  // its gradient, as a row
      product = matmul(graph, swapped(graph, dy, site), is_row ? with_axes(graph, a, {0}, site) : a,
                       site);
    else
      product = matmul(graph, with_axes(graph, a, {1}, site), dy, site);
    dx[1] = sum_to(graph, product, b, site);
  }
  return dx;
}

std::vector<Value> matmul_gradient(const GradientRequest& r) {
  Value a = r.x(0), b = r.x(1), dy = r.dy[0];
  const std::size_t rank_a = r.graph.shape(a).size(), rank_b = r.graph.shape(b).size();
  if (rank_a == 1 || rank_b == 1) return gradient_with_vector(r);
  if (rank_b == 2 && (rank_a == 2 || has_known_sizes(r.graph.shape(b)))) return gradient_by_rows(r);
  std::vector<Value> dx(2);
  if (r.wanted[0]) {
    Site site = gradient_site(r, 0);
    dx[0] = sum_to(r.graph, matmul(r.graph, dy, swapped(r.graph, b, site), site), a, site);
  }
  if (r.wanted[1]) {
    Site site = gradient_site(r, 1);
    dx[1] = sum_to(r.graph, matmul(r.graph, swapped(r.graph, a, site), dy, site), b, site);
  }
  return dx;
}

// Checks the inner dimension and the shape of C, which ONNX does not check.
void gemm_law(Inference& inference) {
  inference.require_ranked();
  GemmAttrs attrs = read_gemm(inference.attributes);
  const Shape& a = inference.input(0).shape;
  const Shape& b = inference.input(1).shape;
  check(a.size() == 2 && b.size() == 2, "operands must have two dimensions");
  const Dim& k_a = a[attrs.trans_a ? 0 : 1];
  const Dim& k_b = b[attrs.trans_b ? 1 : 0];
  check(!k_a.known() || !k_b.known() || k_a == k_b, "inner dimensions are ", k_a.size(), " and ",
        k_b.size());
  if (inference.inputs.size() < 3 || !inference.inputs[2]) return;
  const Shape& c = inference.input(2).shape;
  const Shape out{a[attrs.trans_a ? 1 : 0], b[attrs.trans_b ? 0 : 1]};
  check(c.size() <= 2, "C has ", c.size(), " dimensions");
  for (std::size_t i = 0; i < c.size(); ++i) {
    const Dim& to = out[2 - c.size() + i];
    check(c[i] == to || c[i] == Dim(1) || !c[i].known() || !to.known(), "C ", c,
          " does not broadcast to ", out);
  }
}

// Each result is a sum of as many products as operand 0 has elements along dimension `shared`.
Flops product_flops(const Node& node, std::size_t shared) {
  return {2 * elements_out(node, 0) * extent_of(node.graph(), node.inputs()[0], shared),
          has_operand(node, 2) ? elements_out(node, 0) : 0};
}
Flops gemm_flops(const Node& node) {
  return product_flops(node, read_gemm(node.attributes()).trans_a ? 0 : 1);
}
Flops matmul_flops(const Node& node) {
  const TensorType& a = node.graph().type(node.inputs()[0]);
  return product_flops(node, a.shape.empty() ? 0 : a.shape.size() - 1);
}

}  // namespace

GemmAttrs read_gemm(AttributeReader attributes) {
  GemmAttrs attrs;
  attrs.alpha = attributes.number("alpha", 1);
  attrs.beta = attributes.number("beta", 1);
  attrs.trans_a = attributes.integer("transA", 0) != 0;
  attrs.trans_b = attributes.integer("transB", 0) != 0;
  attributes.done();
  return attrs;
}

Value gemm(Graph& graph, Value a, Value b, Value c, const GemmAttrs& attrs, const Site& site) {
  Attributes written;
  if (attrs.alpha != 1) written.push_back({"alpha", attrs.alpha});
  if (attrs.beta != 1 && c) written.push_back({"beta", attrs.beta});
  if (attrs.trans_a) written.push_back({"transA", int64_t{1}});
  if (attrs.trans_b) written.push_back({"transB", int64_t{1}});
  return graph.add_value({.type = "Gemm", .inputs = {a, b, c}, .attributes = written}, site);
}

Value matmul(Graph& graph, Value a, Value b, const Site& site) {
  return graph.add_value({.type = "MatMul", .inputs = {a, b}}, site);
}

std::vector<Op> gemm_ops() {
  return {{.type = "Gemm",
           .domain = "",
           .law = gemm_law,
           .differentiable = Differentiable::yes,
           .gradient = gemm_gradient,
           .flops = gemm_flops,
           .narrow = {Narrow::always}},
          {.type = "MatMul",
           .domain = "",
           .differentiable = Differentiable::yes,
           .gradient = matmul_gradient,
           .flops = matmul_flops,
           .narrow = {Narrow::always}}};
}

}  // namespace lockstep
