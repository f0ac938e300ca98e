// SPDX-License-Identifier: Apache-2.0
// A node of an opset newer than ours, on import. For graph/opset/ only.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "graph/onnx.h"
#include "lockstep/graph.h"

namespace lockstep {

class NewerNode {
 public:
  NewerNode(Graph& graph, onnx::NodeProto proto, int64_t opset);

  // -- reading
  Graph& graph() const { return graph_; }
  const std::string& type() const { return proto_.op_type(); }
  int64_t opset() const { return opset_; }
  std::string description() const;  // "act (Gelu of opset 20)"
  AttributeReader attributes() const;
  Value input(std::size_t i) const;  // none if omitted
  DType dtype() const;               // of input 0
  Shape shape(std::size_t i) const;  // Unsupported if the rank is unknown
  // Returns the contents of an operand; Unsupported if they are not constant. `what` names the
  // operand.
  std::vector<int64_t> integers(std::size_t i, const char* what) const;
  int64_t size(std::size_t input, int64_t axis) const;  // Unsupported if symbolic
  bool wants(int output) const;
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw Unsupported(join(description(), ": ", parts...));
  }

  // -- small changes: the node stays
  void drop_attribute(const std::string& name);
  void set_attribute(const std::string& name, const AttributeValue& value);
  void set_inputs(const std::vector<Value>& inputs);
  void make_own();  // the node becomes Lockstep's operator of the same name

  // -- decomposition; become() adds the operator that makes the node's output
  Value add(const char* type, const std::vector<Value>& inputs, const Attributes& attributes = {});
  Value constant(Literal literal);
  Value scalar(double value, DType type);
  Value scalar(double value) { return scalar(value, dtype()); }
  Value vector(const std::vector<int64_t>& values);
  Value cast(Value x, DType type) { return add("Cast", {x}, {{"to", static_cast<int64_t>(type)}}); }
  Value shape_of(Value x) { return add("Shape", {x}); }
  Value reshape(Value x, const std::vector<int64_t>& shape) {
    return add("Reshape", {x, vector(shape)});
  }
  // The elements from `begin` up to, not including, `end` along `axis`.
  Value slice(Value x, int64_t axis, int64_t begin, int64_t end) {
    return add("Slice", {x, vector({begin}), vector({end}), vector({axis})});
  }
  void become(const char* type, const std::vector<Value>& inputs, const Attributes& attributes = {},
              int output = 0);

  bool rewritten() const { return rewritten_; }
  // The value of the output, once it is in the graph.
  Value result(int output = 0) const { return graph_.at(proto_.output(output)); }
  onnx::NodeProto take() { return std::move(proto_); }

 private:
  Site site(const std::string& name) const { return Site(name, Where{where_.c_str(), 0}); }

  Graph& graph_;
  onnx::NodeProto proto_;
  int64_t opset_;
  std::string where_;
  int made_ = 0;
  bool rewritten_ = false;
};

// Returns `axis` as 0..rank-1.
int64_t normal_axis(const NewerNode& node, int64_t axis, std::size_t rank);

}  // namespace lockstep
