// SPDX-License-Identifier: Apache-2.0
// An operator's record: schema, shape inference, gradient, aliasing. A graph accepts the operators
// of one OpSet. all_ops() (operators.h) lists Lockstep's operators.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lockstep/attributes.h"
#include "lockstep/types.h"

namespace lockstep {

inline constexpr const char* kOwnDomain = "ai.lockstep";

class Graph;
class Node;
struct Signature;

// A handle to one value of one graph.
struct Value {
  int id = -1;
  explicit operator bool() const { return id >= 0; }
  friend bool operator==(Value, Value) = default;
};
inline constexpr Value none{};

// The arguments of a shape law. For ONNX's operators, ONNX's inference has already filled
// `outputs`, and the law rejects invalid nodes that ONNX accepts. For other operators the law fills
// `outputs`.
struct Inference {
  std::string_view op;
  std::vector<const TensorType*> inputs;  // null for an omitted optional input
  std::vector<const Literal*> constants;  // contents of an input where known, else null
  std::vector<const Shape*> contents;     // of an integer vector or scalar, with symbols, else null
  AttributeReader attributes;
  std::vector<TensorType> outputs;
  const Signature* signature = nullptr;  // of an operator that ONNX does not define

  const TensorType& input(std::size_t i) const;  // throws if it is omitted
  // Throws unless all inputs have known ranks.
  void require_ranked() const;
  // "its input 1, y", for errors; without the name if ONNX defines the operator.
  std::string name_of(std::size_t i) const;
};
using ShapeLaw = void (*)(Inference&);
// Computes the contents of output 0, for operators on small integer vectors that describe shapes.
// ONNX calls this data propagation.
using ContentLaw = std::optional<Shape> (*)(Inference&);

// The arguments of a gradient rule: a node, the gradients of its outputs (none if no loss reaches
// an output), and the inputs that need a gradient. The rule returns one value per input, none for
// "no gradient". The gradient pass adds up the contributions of a value's users.
struct GradientRequest {
  Graph& graph;
  const Node& node;
  std::span<const Value> dy;
  const std::vector<bool>& wanted;

  Value x(std::size_t i) const;  // input i
  Value y(std::size_t i) const;  // output i
};
using GradientRule = std::vector<Value> (*)(const GradientRequest&);

// The arguments of a body: a node, and its operands in the graph that gets the body (none for an
// omitted operand). The body adds nodes of ONNX's operators and returns one value per output.
struct BodyRequest {
  Graph& graph;
  const Node& node;
  std::span<const Value> operands;

  Value x(std::size_t i) const;  // operand i, or none
};
using BodyRule = std::vector<Value> (*)(const BodyRequest&);

// The arithmetic of a node, by the definition of its operator: a faster method may do less. A
// multiplication with an addition is two operations; a division, a comparison, a root or an
// exponential is one. Moving, choosing and converting numbers is none.
struct Flops {
  double products = 0;  // of convolutions, matrix products and recurrent layers
  double others = 0;
  double all() const { return products + others; }
};
// A node's arithmetic, for known shapes; NaN where a shape is open (graph/flops.h).
using FlopRule = Flops (*)(const Node&);

// Reasons why an operator that ONNX does not define has no body.
inline constexpr const char* kOnlyTrains = "it belongs to a training step";
inline constexpr const char* kOnlyPlanned = "only plans have it";

enum class Differentiable {
  yes,   // by `gradient`
  zero,  // no gradient flows to any input (comparisons, shapes, StopGradient)
  no,    // an error if a gradient is needed
};

// Output `output` may use the memory of input `input` if the node is the input's last user.
struct MayAlias {
  int output;
  int input;
};

// When a node uses 16-bit floats instead of float32 in a step of mixed precision.
enum class Narrow {
  never,    // sums of many terms, small differences, operators that run once a step
  follows,  // if all its operands are 16-bit anyway
  always,   // expensive operators, for which devices have fast 16-bit units
};
struct NarrowRule {
  Narrow when = Narrow::never;
  std::vector<int> wide_inputs{};  // operands that stay float32 nevertheless
};

enum class Arity { single, optional, variadic };

struct Formal {
  std::string name;
  // T: any number, the same type for all T; U: another type; I: int32 or int64; R: any float;
  // B: bool
  std::string type = "T";
  Arity arity = Arity::single;
};

enum class AttributeKind { integer, number, text, integers, numbers, tensor };

struct FormalAttribute {
  std::string name;
  AttributeKind kind;
  bool required = false;
};

// The schema of an operator that ONNX does not define. It is registered with libonnx, so that
// ONNX's checker and shape inference accept the operator.
struct Signature {
  std::string doc;
  std::vector<Formal> inputs;
  std::vector<Formal> outputs;
  std::vector<FormalAttribute> attributes = {};
};

struct Op {
  std::string type;
  std::string domain;  // "": ONNX's
  // For operators that ONNX does not define: the operator as a body of ONNX's operators, or the
  // reason why there is no body; and the schema.
  BodyRule body = nullptr;
  const char* no_body = nullptr;
  std::optional<Signature> signature{};
  ShapeLaw law = nullptr;
  ContentLaw content = nullptr;
  Differentiable differentiable = Differentiable::no;
  GradientRule gradient = nullptr;
  FlopRule flops = nullptr;  // null: one operation per element of output 0; none for a view or copy
  std::vector<MayAlias> may_alias{};
  bool alias_in_pairs = false;  // output i may use the memory of input i, for every i
  bool view = false;            // output 0 has the bytes of input 0; only the shape differs
  bool copies = false;          // output 0 is input 0, on another replica
  bool collective = false;      // runs on every replica that holds one of its values
  bool takes_first = false;     // a collective with one operand, replica 0's
  bool random = false;          // runs differ: never folded, never shared
  bool draws = false;           // draws random numbers in every step, from the node's stream
  // With `draws`: an operand numbers the examples. The numbers drawn for an example do not depend
  // on the replica or the part of the batch that holds the example.
  bool draws_by_example = false;
  // Exchanges messages with another process: never dropped, never folded, run in graph order.
  bool exchange = false;
  // Cheap enough to run between two exchanges: moves or adds data.
  bool transit = false;
  NarrowRule narrow{};

  bool allows_alias(int output, int input) const;
};

class OpSet {
 public:
  OpSet() = default;
  // Throws for two records of one operator, and unless each operator of kOwnDomain has either a
  // body or no_body. Registers the schemas of operators that ONNX does not define with libonnx.
  explicit OpSet(std::vector<Op> ops);

  // Null for an unknown operator. The result is valid while the set is.
  const Op* find(std::string_view domain, std::string_view type) const;
  // As find(), but throws for an unknown operator, with the nearest name. `used_by`: the node, for
  // the error.
  const Op* named(std::string_view domain, std::string_view type, std::string_view used_by) const;
  const std::vector<Op>& ops() const { return ops_; }

 private:
  std::vector<Op> ops_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace lockstep
