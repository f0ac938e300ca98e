// SPDX-License-Identifier: Apache-2.0
// Graph: an ONNX graph that is built node by node and always valid: single assignment, operands
// before users, every node checked and its shapes inferred when it is added. Also keeps the
// producer and the users of each value.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/error.h"
#include "lockstep/op.h"
#include "lockstep/types.h"

namespace lockstep {

inline constexpr int kEveryReplica = -1;

// A read-only view of one node. Valid until the graph is moved or destroyed, or its nodes are
// reordered or removed.
class Node {
 public:
  Node(const Graph& graph, int index) : graph_(&graph), index_(index) {}

  int index() const { return index_; }
  const Graph& graph() const { return *graph_; }
  const std::string& type() const;
  const std::string& domain() const;
  const std::string& name() const;
  std::span<const Value> inputs() const;  // `none` for an omitted optional input
  std::span<const Value> outputs() const;
  AttributeReader attributes() const;
  std::vector<std::string> attribute_texts() const;  // `name=value`, in written order
  int replica() const;                               // kEveryReplica: not bound to a replica
  const std::string& where() const;                  // file:line of the builder call
  const Op* op() const;                              // null if the OpSet lacks it
  // "conv1 (Conv, replica 0, models/lenet.cc:20)"
  std::string description() const;
  // Lets a node be part of an error's text: check(holds, node, ": ..").
  ErrorSubject subject() const { return {.node = name()}; }

 private:
  const Graph* graph_;
  int index_;
};
inline std::string text_of(const Node& node) { return node.description(); }

struct NodeSpec {
  std::string_view type;
  std::string_view domain = "";
  std::vector<Value> inputs = {};
  Attributes attributes = {};
  int outputs = 1;
  // By default the node's name, then name_1, ...; "" omits an optional output.
  std::vector<std::string> output_names = {};
};

class Graph {
 public:
  // `ops` must outlive the graph.
  explicit Graph(const OpSet& ops, std::string name = "graph");
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Graph clone() const;

  const OpSet& ops() const;
  const std::string& name() const;

  // -- building
  // Adds an input, under the current scope. Throws if the name is taken. `origin`: the line that
  // declares the input.
  Value input(const std::string& name, const TensorType& type, const std::string& origin = "");
  // Adds a constant with known contents (an ONNX initializer), under the current scope. A name that
  // is taken gets a suffix.
  Value constant(const std::string& name, Literal literal);
  // Adds a node named after site.name (or its operator), under the current scope and replica.
  // Throws naming node, operator and shapes if the node is invalid.
  Node add(const NodeSpec& spec, const Site& site);
  // Adds a copy of a node of any graph with these operands, under the current scope and replica.
  Node copy(const Node& node, const std::vector<Value>& inputs);
  // Adds a node of another graph under other names, on the current replica. Types and contents of
  // its outputs are copied without checks or inference. If there are more names than outputs (a
  // collective of more replicas), the other names get the last output's type.
  struct Names {
    std::string node;
    std::vector<std::string> outputs;  // "" for an omitted output
  };
  Node take(const Node& node, const std::vector<Value>& inputs, const Names& names);
  // Reserves memory for these total numbers of nodes and values.
  void reserve(std::size_t nodes, std::size_t values);
  // Adds a constant of another graph under another name; the bytes are shared.
  Value take_constant(const Graph& from, Value constant, const std::string& name);
  // Adds a node as add() does and returns its first output.
  Value add_value(const NodeSpec& spec, const Site& site);
  void output(Value value);  // declares a graph output; repeating it has no effect
  void rename(Value value, const std::string& name);

  // -- scopes: name prefixes, and the replica of new nodes (NameScope, ReplicaScope)
  std::string scoped(std::string_view name) const;  // scope/name
  const std::string& scope() const;
  void set_scope(std::string scope);
  int replica() const;
  void set_replica(int replica);

  // -- origins: the user's line of the model function behind each node. By default a node's origin
  // is the line that adds the node. While an origin is set (OriginScope), new nodes have the set
  // origin. Once origins are inherited, a new node has the origin of its first operand that has an
  // origin, else `otherwise`.
  void set_origin(std::optional<std::string> origin);
  const std::optional<std::string>& origin() const;
  void inherit_origins(std::string otherwise = "");
  // The origin of the value's node, or the line that declares the input; "" if unknown.
  const std::string& origin(Value value) const;

  // -- reading
  int node_count() const;
  Node node(int index) const { return {*this, index}; }
  int value_count() const;
  const std::vector<Value>& inputs() const;
  const std::vector<Value>& outputs() const;
  Value find(std::string_view name) const;  // none if there is no such value
  Value at(std::string_view name) const;    // throws, with the nearest name
  const std::string& name(Value value) const;
  const TensorType& type(Value value) const;
  const Shape& shape(Value value) const;  // throws if the rank is unknown
  DType dtype(Value value) const { return type(value).dtype; }
  const Literal* literal(Value value) const;             // contents of a constant, or null
  const Shape* content(Value value) const;               // of a small integer vector, or null
  std::optional<Node> producer(Value value) const;       // empty for inputs and constants
  const std::vector<int>& consumers(Value value) const;  // node indices, one per use

  // -- passes
  void reorder(const std::vector<int>& order);  // throws unless it is a valid order of all nodes
  // Keeps the nodes marked true, and drops all others and unused constants. Returns each old
  // value's new handle, by old id; `none` if the value was dropped. Throws if a kept node loses an
  // operand.
  std::vector<Value> keep(const std::vector<bool>& nodes);
  // Makes the value a constant. Its node stays until keep() drops it.
  void fold(Value value, Literal literal);
  // For attributes that do not affect shapes.
  void set_attribute(int node, const std::string& name, const AttributeValue& value);
  void drop_attribute(int node, const std::string& name);

  struct Members;  // for graph/ itself: graph/graph_members.h
  Members& members() { return *members_; }
  const Members& members() const { return *members_; }

 private:
  std::unique_ptr<Members> members_;
};

// During its lifetime new nodes are named under `name/`, within the current scope.
class NameScope {
 public:
  NameScope(Graph& graph, std::string_view name);
  ~NameScope() { graph_.set_scope(saved_); }
  NameScope(const NameScope&) = delete;

 private:
  Graph& graph_;
  std::string saved_;
};

// During its lifetime new nodes belong to `replica`. For names see NameScope.
class ReplicaScope {
 public:
  ReplicaScope(Graph& graph, int replica) : graph_(graph), saved_(graph.replica()) {
    graph_.set_replica(replica);
  }
  ~ReplicaScope() { graph_.set_replica(saved_); }
  ReplicaScope(const ReplicaScope&) = delete;

 private:
  Graph& graph_;
  int saved_;
};

// During its lifetime new nodes have this origin.
class OriginScope {
 public:
  OriginScope(Graph& graph, std::string origin) : graph_(graph), before_(graph.origin()) {
    graph.set_origin(std::move(origin));
  }
  ~OriginScope() { graph_.set_origin(std::move(before_)); }
  OriginScope(const OriginScope&) = delete;

 private:
  Graph& graph_;
  std::optional<std::string> before_;
};

struct PrintOptions {
  bool where = false;  // adds the file:line of the builder call to each node
};
// One line per input, constant and node, in graph order, with types. The text is stable.
std::string text_of(const Graph& graph, const PrintOptions& options = {});

}  // namespace lockstep
