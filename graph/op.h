// One operator's record: what the graph needs to know of it. The rooms in operators/ make these
// and operators/all.cc lists them; graph/ itself knows no operator.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/attributes.h"
#include "graph/shape.h"

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

// What a shape law sees of a node. For operators of ONNX's own domain ONNX's inference has filled
// `outputs` already and the law checks what ONNX lets pass; for ours the law fills them.
struct Inference {
  std::string_view op;
  std::vector<const TensorType*> inputs;  // null where an optional input is left out
  std::vector<const Literal*> constants;  // contents of an input where known, else null
  std::vector<const Shape*> contents;     // of an integer vector or scalar, symbols included
  AttributeReader attributes;
  std::vector<TensorType> outputs;
  const Signature* signature = nullptr;  // of an operator of ours

  const TensorType& input(std::size_t i) const;  // throws when it is left out
  // Throws unless every input has a known number of dimensions.
  void require_ranked() const;
  // "its input 1, y"; without its name where ONNX has given it.
  std::string name_of(std::size_t i) const;
};
using ShapeLaw = void (*)(Inference&);
// What output 0 holds, for operators on small integer vectors: see operators/kit/content.h.
using ContentLaw = std::optional<Shape> (*)(Inference&);

// What a gradient rule sees: a node, the gradients of its outputs (none where no loss reaches that
// output), and which inputs want one. It answers with one value per input, none for "no gradient";
// the pass in gradient.cc adds up what several users of a value contribute.
struct GradientRequest {
  Graph& graph;
  const Node& node;
  std::span<const Value> dy;
  const std::vector<bool>& wanted;

  Value x(std::size_t i) const;  // input i
  Value y(std::size_t i) const;  // output i
};
using GradientRule = std::vector<Value> (*)(const GradientRequest&);

enum class Differentiable {
  yes,   // `gradient` says how
  zero,  // no gradient flows to any input (comparisons, shapes, StopGradient)
  no,    // an error for whoever needs it
};

// Output `output` may live in the memory of input `input` if that is its last use.
struct MayAlias {
  int output;
  int input;
};

// Whether a node may take and make 16-bit floats in place of float32: see graph/passes/precision.h.
enum class Narrow {
  never,    // sums of many terms, small differences, what is done once a step
  follows,  // when all it reads comes as 16 bits anyway
  always,   // where the time of a step goes, and devices have fast units for it
};
struct NarrowRule {
  Narrow when = Narrow::never;
  std::vector<int> wide_inputs{};  // operands that stay float32 all the same
};

enum class Arity { single, optional, variadic };

struct Formal {
  std::string name;
  // T: any number, the same for all; U: another; I: int32 or int64; R: any real number; B: bool
  std::string type = "T";
  Arity arity = Arity::single;
};

enum class AttributeKind { integer, number, text, integers, numbers, tensor };

struct FormalAttribute {
  std::string name;
  AttributeKind kind;
  bool required = false;
};

// Schema of an operator of domain ai.lockstep; it is registered with libonnx, so that ONNX's
// checker and shape inference know our operators too.
struct Signature {
  std::string doc;
  std::vector<Formal> inputs;
  std::vector<Formal> outputs;
  std::vector<FormalAttribute> attributes = {};
};

struct Op {
  std::string type;
  std::string domain;                    // "" is ONNX's own
  std::optional<Signature> signature{};  // ours only
  ShapeLaw law = nullptr;
  ContentLaw content = nullptr;
  Differentiable differentiable = Differentiable::no;
  GradientRule gradient = nullptr;
  std::vector<MayAlias> may_alias{};
  bool alias_in_pairs = false;  // output i may live in the memory of input i, for every i
  bool view = false;            // output 0 has the bytes of input 0; only the shape differs
  bool collective = false;      // runs on every replica that holds one of its values
  bool takes_first = false;     // a collective whose one operand is replica 0's
  bool random = false;          // two runs of it differ: never folded, never shared
  bool draws = false;           // in every step, by a stream of its own: graph/random_stream.h
  // Exchanges messages with another process: never dropped, never folded, run in the graph's order.
  bool exchange = false;
  // Cheap enough to run between two exchanges: moves data or adds it up.
  bool transit = false;
  NarrowRule narrow{};

  bool allows_alias(int output, int input) const;
};

class OpSet {
 public:
  OpSet() = default;
  // Throws when two records carry the same name. Registers our own schemas with libonnx.
  explicit OpSet(std::vector<Op> ops);

  const Op* find(std::string_view domain, std::string_view type) const;
  const std::vector<Op>& ops() const { return ops_; }

 private:
  std::vector<Op> ops_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace lockstep
