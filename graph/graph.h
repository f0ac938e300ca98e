// Graph: an ONNX graph that is built node by node and always valid: single assignment, operands
// before users, every node checked and its shapes inferred when it is added. Nodes are ONNX
// NodeProtos; beside them stand the indices that a protobuf lacks (who makes a value, who uses it).
// Nothing outside graph/ sees a protobuf, and nothing but Graph adds a node.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/attributes.h"
#include "graph/error.h"
#include "graph/literal.h"
#include "graph/op.h"
#include "graph/shape.h"

namespace onnx {
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace lockstep {

struct Inferred;
inline constexpr int kEveryReplica = -1;

// A read-only view of one node; valid until the graph's nodes are next reordered or removed.
class Node {
 public:
  Node(const Graph& graph, int index) : graph_(&graph), index_(index) {}

  int index() const { return index_; }
  const Graph& graph() const { return *graph_; }
  const std::string& type() const;
  const std::string& domain() const;
  const std::string& name() const;
  std::span<const Value> inputs() const;  // none where an optional input is left out
  std::span<const Value> outputs() const;
  AttributeReader attributes() const;
  std::vector<std::string> attribute_texts() const;  // `name=value`, in written order
  int replica() const;                               // kEveryReplica: not bound to one
  const std::string& where() const;                  // file:line of the builder call
  const Op* op() const;                              // null when the OpSet lacks it
  // "conv1 (Conv, replica 0, models/lenet.cc:20)"
  std::string description() const;
  const onnx::NodeProto& proto() const;

 private:
  const Graph* graph_;
  int index_;
};

struct NodeSpec {
  std::string_view type;
  std::string_view domain = "";
  std::vector<Value> inputs = {};
  Attributes attributes = {};
  int outputs = 1;
  std::vector<std::string> output_names = {};  // default: the node's name, then name_1, ...
};

class Graph {
 public:
  // `ops` must outlive the graph.
  explicit Graph(const OpSet& ops, std::string name = "graph");
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  Graph clone() const;

  const OpSet& ops() const { return *ops_; }
  const std::string& name() const { return name_; }

  // -- building
  // `origin`: the line that declares it.
  Value input(const std::string& name, const TensorType& type, const std::string& origin = "");
  // A constant with contents known now (an ONNX initializer).
  Value constant(const std::string& name, Literal literal);
  // Adds a node named after site.name (or its operator), under the current scope and replica.
  // Throws naming node, operator and shapes when the node is not valid.
  Node add(const NodeSpec& spec, const Site& site);
  // Adds a node read from a file, names as they are there.
  Node adopt(onnx::NodeProto proto);
  // Adds a copy of a node of any graph, with these operands, under the current scope and replica.
  Node copy(const Node& node, const std::vector<Value>& inputs);
  // Adds a node of another graph under other names, on the current replica. All that is known of
  // its outputs is taken over; nothing is checked or inferred anew. Where there are more names than
  // outputs (a collective of more replicas) the last output's type is theirs.
  struct Names {
    std::string node;
    std::vector<std::string> outputs;  // "" where one is left out
  };
  Node take(const Node& node, const std::vector<Value>& inputs, const Names& names);
  void reserve(std::size_t nodes, std::size_t values);  // for as many in all
  // A constant of another graph under another name; its bytes are shared.
  Value take_constant(const Graph& from, Value constant, const std::string& name);
  // Adds a node as add() does; its first output.
  Value add_value(const NodeSpec& spec, const Site& site);
  void output(Value value);  // declares a graph output; twice is once
  void rename(Value value, const std::string& name);

  // -- scopes: prefix of names, and the replica that new nodes carry
  std::string scoped(std::string_view name) const;  // scope/name
  const std::string& scope() const { return scope_; }
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  int replica() const { return replica_; }
  void set_replica(int replica) { replica_ = replica; }

  // -- where nodes come from: the line of the model function that a user knows. A node says the
  // line that adds it, unless it is added on behalf of others: while an origin is set, of that one
  // (OriginScope), and once origins are inherited, of its first operand that has one, or
  // `otherwise`.
  void set_origin(std::optional<std::string> origin) { origin_ = std::move(origin); }
  const std::optional<std::string>& origin() const { return origin_; }
  void inherit_origins(std::string otherwise = "");
  const std::string& origin(Value value) const;  // of its node, or of its declaration; "" for none

  // -- reading
  int node_count() const;
  Node node(int index) const { return {*this, index}; }
  int value_count() const { return static_cast<int>(values_.size()); }
  const std::vector<Value>& inputs() const { return inputs_; }
  const std::vector<Value>& outputs() const { return outputs_; }
  Value find(std::string_view name) const;  // none when there is no such value
  Value at(std::string_view name) const;    // throws, with the nearest name
  const std::string& name(Value value) const;
  const TensorType& type(Value value) const;
  const Shape& shape(Value value) const;  // throws when the rank is unknown
  DType dtype(Value value) const { return type(value).dtype; }
  const Literal* literal(Value value) const;             // contents of a constant, or null
  const Shape* content(Value value) const;               // of a small integer vector, or null
  std::optional<Node> producer(Value value) const;       // nothing for inputs and constants
  const std::vector<int>& consumers(Value value) const;  // node indices, one per use

  // -- passes
  void reorder(const std::vector<int>& order);  // throws unless a valid order of all nodes
  void keep(const std::vector<bool>& nodes);    // drops the others and unused constants
  void fold(Value value, Literal literal);      // from now on a constant; prune() drops its node
  // For attributes that no law of shapes depends on.
  void set_attribute(int node, const std::string& name, const AttributeValue& value);
  void drop_attribute(int node, const std::string& name);

 private:
  friend class Node;
  struct ValueInfo {
    std::string name;
    TensorType type;
    int producer = -1;
    bool is_output = false;
    std::string declared_at;  // of an input
    std::vector<int> consumers;
    std::shared_ptr<const Literal> literal;
    std::unique_ptr<Shape> content;
    std::unique_ptr<Literal> known;  // the content where it has no symbol
  };
  struct NodeInfo {
    std::vector<Value> inputs;
    std::vector<Value> outputs;
    const Op* op = nullptr;
    int replica = kEveryReplica;
  };

  Value new_value(std::string name, TensorType type);
  std::string origin_of(const NodeSpec& spec, const Site& site) const;
  // Checks, infers and appends; `where` is said in the error.
  Node append(onnx::NodeProto proto, NodeInfo node, const std::string& where);
  const ValueInfo& info(Value value) const;
  std::string fresh_name(const std::string& base);
  Inferred infer(onnx::NodeProto& proto, const NodeInfo& node) const;
  void learn_content(Value value, const Shape& content);

  const OpSet* ops_;
  std::string name_;
  std::string scope_;
  int replica_ = kEveryReplica;
  std::optional<std::string> origin_;
  std::optional<std::string> inherited_otherwise_;
  std::unique_ptr<onnx::GraphProto> proto_;  // holds the nodes
  std::vector<NodeInfo> nodes_;
  std::vector<ValueInfo> values_;
  std::vector<Value> inputs_;
  std::vector<Value> outputs_;
  std::unordered_map<std::string, Value> by_name_;
  std::unordered_map<std::string, int> next_suffix_;
};

// While it lives, new nodes are named under `name/` in addition to what holds already.
class NameScope {
 public:
  NameScope(Graph& graph, std::string_view name);
  ~NameScope() { graph_.set_scope(saved_); }
  NameScope(const NameScope&) = delete;

 private:
  Graph& graph_;
  std::string saved_;
};

// While it lives, new nodes belong to `replica`. It names nothing: see NameScope.
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

// The same for where nodes come from.
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

// The candidate closest to `word` by edit distance, or "" when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace lockstep
