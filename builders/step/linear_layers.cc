// SPDX-License-Identifier: Apache-2.0
#include "builders/step/linear_layers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/passes/copy.h"
#include "lockstep/operators.h"

namespace lockstep {
namespace {

struct LinearLayer {
  Value x, w, bias;
  bool transposed;  // the product uses the transpose of w
  int last;         // the node that the layer's result replaces
};

bool is_standard(const Node& node, const char* type) {
  return node.domain().empty() && node.type() == type;
}

// The operand if `value` is the transpose of a matrix, else none.
Value transposed_from(const Graph& graph, Value value) {
  const auto maker = graph.producer(value);
  if (!maker || !is_standard(*maker, "Transpose")) return none;
  return graph.shape(value).size() == 2 &&
                 maker->attributes().integers("perm") != std::vector<int64_t>{0, 1}
             ? maker->inputs()[0]
             : none;
}

// True if Reshape can produce this shape: at most one unknown dimension, and no dimension of 0.
bool can_be_restored(const Shape& shape) {
  return std::ranges::count_if(shape, [](const Dim& dim) { return !dim.known(); }) <= 1 &&
         std::ranges::none_of(shape, [](const Dim& dim) { return dim.known() && dim.size() == 0; });
}

class LinearLayers {
 public:
  explicit LinearLayers(OneReplica& one) : one_(one), graph_(one.graph), listed_(one.listed()) {
    for (int index = 0; index < graph_.node_count(); ++index)
      if (const auto layer = layer_of(index)) {
        made_.emplace(layer->last, *layer);
        if (layer->last != index) left_out_.insert(index);
      }
    for (int index = 0; index < graph_.node_count(); ++index)
      if (is_left_without_readers(index)) left_out_.insert(index);
  }

  void rewrite() {
    if (made_.empty()) return;
    GraphCopy copy(graph_);
    for (int index = 0; index < graph_.node_count(); ++index) {
      if (left_out_.contains(index)) continue;
      const auto layer = made_.find(index);
      if (layer == made_.end())
        copy.take(graph_.node(index));
      else
        make(copy, layer->second);
    }
    one_.for_each_value([&](Value& value) { value = copy.of(value); });
    one_.graph = copy.finish();
  }

 private:
  std::optional<LinearLayer> layer_of(int index) const {
    const Node node = graph_.node(index);
    if (!is_standard(node, "MatMul")) return std::nullopt;
    LinearLayer layer{node.inputs()[0], node.inputs()[1], none, false, index};
    const Shape &x = graph_.shape(layer.x), &w = graph_.shape(layer.w);
    if (x.size() < 2 || w.size() != 2 || !w[0].known() || !w[1].known() || w[1].size() == 0 ||
        !x.back().known() || !can_be_restored(x) || graph_.dtype(layer.x) != DType::float32)
      return std::nullopt;
    if (const Value matrix = transposed_from(graph_, layer.w)) {
      layer.w = matrix;
      layer.transposed = true;
    }
    add_bias(layer, node.outputs()[0]);
    if (!layer.transposed && !layer.bias) return std::nullopt;
    return layer;
  }

  // Sets the bias if the product's only consumer is an Add of one row to all rows.
  void add_bias(LinearLayer& layer, Value product) const {
    const auto readers = graph_.consumers(product);
    if (readers.size() != 1 || listed_.contains(product.id)) return;
    const Node reader = graph_.node(readers[0]);
    if (!is_standard(reader, "Add")) return;
    const Value other = reader.inputs()[reader.inputs()[0] == product ? 1 : 0];
    if (graph_.shape(other) != Shape{graph_.shape(product).back()}) return;
    layer.bias = other;
    layer.last = readers[0];
  }

  // True for a transpose that only linear layers read.
  bool is_left_without_readers(int index) const {
    const Node node = graph_.node(index);
    if (!is_standard(node, "Transpose") || listed_.contains(node.outputs()[0].id)) return false;
    const auto readers = graph_.consumers(node.outputs()[0]);
    return !readers.empty() && std::ranges::all_of(readers, [&](int reader) {
      const auto layer = layer_of(reader);
      return layer && layer->transposed && layer->x != node.outputs()[0];
    });
  }

  void make(GraphCopy& copy, const LinearLayer& layer) const {
    Graph& to = copy.to();
    const Node last = graph_.node(layer.last);
    const std::string name = graph_.name(last.outputs()[0]);
    const OriginScope origin(to, last.where());
    const Shape& x = graph_.shape(layer.x);
    const Value w = copy.of(layer.w), bias = copy.of(layer.bias);
    const GemmAttrs how{.trans_b = layer.transposed};
    if (x.size() == 2) {
      copy.set(last.outputs()[0], gemm(to, copy.of(layer.x), w, bias, how, Site(name)));
      return;
    }
    const Value rows =
        reshape(to, copy.of(layer.x), {-1, x.back().size()}, Site(copy.fresh_name(name + "/rows")));
    const Value product = gemm(to, rows, w, bias, how, Site(copy.fresh_name(name + "/product")));
    std::vector<int64_t> sizes;
    for (const Dim& dim : graph_.shape(last.outputs()[0]))
      sizes.push_back(dim.known() ? dim.size() : -1);
    copy.set(last.outputs()[0], reshape(to, product, sizes, Site(name)));
  }

  OneReplica& one_;
  const Graph& graph_;
  const std::set<int> listed_;       // values that `one_` names
  std::map<int, LinearLayer> made_;  // by the last node
  std::set<int> left_out_;           // nodes
};

}  // namespace

void make_linear_layers_products(OneReplica& one) { LinearLayers(one).rewrite(); }

}  // namespace lockstep
