// SPDX-License-Identifier: Apache-2.0
// Adds the nodes of a file's graph to a Graph. A Graph has no control flow: an If becomes the
// branch of its constant condition, and loops are unrolled. For import.cc.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/flow/conditions.h"
#include "graph/flow/flow_value.h"
#include "graph/graph_members.h"
#include "graph/import.h"
#include "graph/order.h"

namespace lockstep {

// The largest number of nodes and iterations of all unrolled loops of a graph.
inline constexpr int kMostUnrolledNodes = 100000;

// Names of the operators that have graphs as attributes.
bool is_control_flow(const std::string& type);
// Returns the attribute, or null if the node has none of that name.
const onnx::GraphProto* graph_attribute(const onnx::NodeProto& node, const std::string& name);

class FlowImporter {
 public:
  // Names of a file's values in one graph or subgraph. `outer` is null for the file's main graph,
  // where a value without an entry has the same name in the Graph.
  struct Scope {
    const Scope* outer = nullptr;
    std::string prefix = "";  // of names in the Graph
    bool in_loop = false;
    std::unordered_map<std::string, FlowValue> values = {};
  };

  FlowImporter(Graph& graph, const ImportOptions& options);

  // Adds a node; its operands are known in `scope`.
  void add(onnx::NodeProto node, Scope& scope);
  // Adds the nodes of a subgraph whose inputs are in `scope`. Returns its outputs.
  std::vector<FlowValue> add_graph(const onnx::GraphProto& graph, Scope& scope);
  // The value of a name; throws for an unknown name.
  FlowValue find(const std::string& name, const Scope& scope) const;
  // As find(), but throws unless the value is a tensor. `node` is for the error.
  Value tensor(const std::string& name, const Scope& scope, const std::string& node) const;

  // Names that nodes of subgraphs may not use.
  void reserve(const onnx::GraphProto& main);
  // Makes `value` the result `name` of a node; `made_from` is the number of values before it.
  void bind(const std::string& name, FlowValue value, Scope& scope, int made_from);

  // Declares a parameter, which cannot decide a condition.
  void add_trained(Value initializer) { conditions_.add_trained(initializer); }
  Graph& graph() { return graph_; }
  Conditions& conditions() { return conditions_; }
  const ImportOptions& options() const { return options_; }
  std::string fresh_name(const std::string& base);
  // "n14 (If)"
  static std::string described(const onnx::NodeProto& node);

 private:
  void add_if(const onnx::NodeProto& node, Scope& scope);
  void add_loop(const onnx::NodeProto& node, Scope& scope);
  void add_scan(const onnx::NodeProto& node, Scope& scope);
  void add_map(const onnx::NodeProto& node, Scope& scope);
  void add_sequence(onnx::NodeProto node, Scope& scope);
  // Gives operands and results their names in the Graph.
  void localise(onnx::NodeProto& node, const Scope& scope);
  Value initializer(const onnx::TensorProto& tensor, const Scope& scope);
  Scope inside(const Scope& scope, const onnx::NodeProto& node, int64_t iteration);
  // Counts a node, or an iteration, of an unrolled loop.
  void count_unrolled(const onnx::NodeProto& node);
  // Throws an error for control flow that depends on data.
  [[noreturn]] void refuse(const onnx::NodeProto& node, const std::string& why) const;
  // Joins the values of each iteration as the node's result.
  void bind_scanned(const onnx::NodeProto& node, int output, const std::vector<FlowValue>& values,
                    const onnx::ValueInfoProto& declared, int64_t axis, Scope& scope);

  Graph& graph_;
  const ImportOptions& options_;
  Conditions conditions_;
  Names reserved_;
  std::map<const onnx::TensorProto*, Value> initializers_;  // of subgraphs
  int unrolled_ = 0;                                        // nodes and iterations
};

}  // namespace lockstep
