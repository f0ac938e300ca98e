// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/bind.h"

#include "graph/graph_members.h"
#include "graph/onnx.h"
#include "graph/passes/fold.h"
#include "graph/passes/prune.h"
#include "graph/placement.h"

namespace lockstep {
namespace {

class Symbols {
 public:
  // Checks a fed shape against the declared shape and learns its symbols. Symbols are per replica:
  // another replica may have a smaller share of the batch.
  void learn(const std::string& name, int replica, const Shape& declared, const Dims& fed) {
    bool fits = declared.size() == fed.size();
    for (std::size_t i = 0; fits && i < fed.size(); ++i) {
      if (declared[i].known()) {
        fits = declared[i].size() == fed[i];
      } else if (declared[i].symbol() != "?") {
        auto [known, fresh] = sizes_.emplace(std::pair(replica, declared[i].symbol()), fed[i]);
        check(known->second == fed[i], "input '", name, "' is fed ", fed, ", but '",
              declared[i].symbol(), "' is already ", known->second);
      }
    }
    check(fits, "input '", name, "' is declared ", declared, " but is fed ", fed);
  }

  Dims bound(const std::string& name, int replica, const Shape& shape) const {
    Dims dims;
    for (const Dim& dim : shape) {
      auto size = dim.known() ? sizes_.end() : sizes_.find({replica, dim.symbol()});
      check(dim.known() || size != sizes_.end(), "input '", name, "' ", shape, " must be fed: '",
            dim.symbol(), "' is not known");
      dims.push_back(dim.known() ? dim.size() : size->second);
    }
    return dims;
  }

 private:
  std::map<std::pair<int, std::string>, int64_t> sizes_;
};

}  // namespace

Graph bind_shapes(const Graph& graph, const std::map<std::string, Dims>& feeds,
                  const std::vector<std::string>& wanted, const Folder& folder,
                  const Owners& owners) {
  std::vector<Value> targets;
  for (const std::string& name : wanted) targets.push_back(graph.at(name));
  std::vector<bool> needed = needed_nodes(graph, targets);

  Symbols symbols;
  for (const auto& [name, dims] : feeds) {
    Value value = graph.at(name);
    symbols.learn(name, replica_of(graph, value, owners), graph.shape(value), dims);
  }
  Graph bound(graph.ops(), graph.name());
  std::vector<bool> is_target(graph.value_count(), false);
  for (Value target : targets) is_target[target.id] = true;
  for (Value input : graph.inputs()) {
    if (graph.literal(input)) continue;  // already a constant
    const std::string& name = graph.name(input);
    bool used = is_target[input.id];
    for (int user : graph.consumers(input)) used = used || needed[user];
    if (!used) continue;
    auto fed = feeds.find(name);
    Dims dims = fed != feeds.end()
                    ? fed->second
                    : symbols.bound(name, replica_of(graph, input, owners), graph.shape(input));
    bound.input(name, {graph.dtype(input), to_shape(dims)});
  }
  for (int id = 0; id < graph.value_count(); ++id)
    if (const Literal* literal = graph.literal({id}))
      if (!graph.producer({id})) bound.constant(graph.name({id}), *literal);
  for (int index = 0; index < graph.node_count(); ++index) {
    if (!needed[index]) continue;
    Node node = adopt(bound, proto_of(graph.node(index)));
    if (auto literals = folded(node, folder))
      for (std::size_t i = 0; i < literals->size(); ++i)
        bound.fold(node.outputs()[i], std::move((*literals)[i]));
    for (Value output : node.outputs())
      supported(!output || (bound.type(output).ranked && is_static(bound.shape(output))),
                node.description(), ": the shape of '", output ? bound.name(output) : "", "', ",
                output ? text_of(bound.type(output)) : "",
                ", depends on data; shapes must be static");
  }
  for (const std::string& name : wanted) bound.output(bound.at(name));
  std::vector<Value> outputs = bound.outputs();
  prune(bound, outputs);
  return bound;
}

}  // namespace lockstep
