// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "graph/opset/rewrites.h"

namespace lockstep {
namespace {

// Reshapes [batch, positions, heads * width] to [batch, heads, positions, width].
Value by_head(NewerNode& node, Value x, int64_t heads) {
  const Value apart = node.add("Reshape", {x, node.vector({0, 0, heads, -1})});
  return node.add("Transpose", {apart}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

int64_t known(const NewerNode& node, Value x, std::size_t axis) {
  const Dim dim = node.graph().shape(x)[axis];
  if (!dim.known())
    node.refuse("the size of '", node.graph().name(x), "' ", node.graph().type(x), " along axis ",
                axis, " is not known");
  return dim.size();
}

class Attention {
 public:
  explicit Attention(NewerNode& node) : node_(node), flat_(node.shape(0).size() == 3) {
    for (std::size_t i = 0; i < 3; ++i)
      if (const std::size_t rank = node.shape(i).size(); rank != (flat_ ? 3 : 4))
        fail(node.description(), ": operand ", i, " has ", rank,
             " dimensions; all have 3, or all 4");
    refuse_what_is_not_written();
    const int64_t heads = node.attributes().integer("q_num_heads", 0);
    const int64_t kv_heads = node.attributes().integer("kv_num_heads", 0);
    if (flat_ && (heads < 1 || kv_heads < 1))
      fail(node.description(), ": q_num_heads and kv_num_heads should be positive, are ", heads,
           " and ", kv_heads);
    query_ = flat_ ? by_head(node, node.input(0), heads) : node.input(0);
    key_ = with_past(flat_ ? by_head(node, node.input(1), kv_heads) : node.input(1), 4);
    value_ = with_past(flat_ ? by_head(node, node.input(2), kv_heads) : node.input(2), 5);
  }

  void write() {
    const Value present_key = key_, present_value = value_;
    repeat_heads();
    const Value scores = this->scores();
    const Value bias = this->bias();
    const Value biased = bias ? node_.add("Add", {scores, bias}) : scores;
    const Value weights = this->weights(scores, bias);
    Value y = node_.add("MatMul", {weights, value_});
    if (flat_) {
      y = node_.add("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
      y = node_.add("Reshape", {y, node_.vector({0, 0, -1})});
    }
    node_.become("Identity", {y});
    if (node_.wants(1)) node_.become("Identity", {present_key}, {}, 1);
    if (node_.wants(2)) node_.become("Identity", {present_value}, {}, 2);
    if (!node_.wants(3)) return;
    const Value stages[] = {products_, scores, biased, weights};
    const int64_t stage = node_.attributes().integer("qk_matmul_output_mode", 0);
    if (stage < 0 || stage > 3)
      fail(node_.description(), ": qk_matmul_output_mode is ", stage, ", should be 0 to 3");
    node_.become("Identity", {stages[stage]}, {}, 3);
  }

 private:
  void refuse_what_is_not_written() const {
    if (node_.input(6)) node_.refuse("nonpad_kv_seqlen is not supported");
    for (const char* side : {"left_window_size", "right_window_size"})
      if (node_.attributes().integer(side, -1) >= 0) node_.refuse(side, " is not supported");
  }

  Value with_past(Value present, std::size_t operand) {
    const Value past = node_.input(operand);
    return past ? node_.add("Concat", {past, present}, {{"axis", int64_t{2}}}) : present;
  }

  // Repeats each head of keys and values for several query heads.
  void repeat_heads() {
    const int64_t heads = known(node_, query_, 1), kv_heads = known(node_, key_, 1);
    if (heads == kv_heads) return;
    if (kv_heads < 1 || heads % kv_heads != 0)
      fail(node_.description(), ": ", heads,
           " query heads are not a multiple of the key/value heads, ", kv_heads);
    for (Value* x : {&key_, &value_}) {
      const Value apart = node_.add("Unsqueeze", {*x, node_.vector({2})});
      const Value repeated =
          node_.add("Expand", {apart, node_.vector({1, 1, heads / kv_heads, 1, 1})});
      const int64_t width = known(node_, *x, 3);
      *x = node_.add("Reshape", {repeated, node_.vector({0, heads, -1, width})});
    }
  }

  Value scores() {
    const float scale = node_.attributes().number("scale", 0);
    const double factor =
        std::sqrt(scale != 0 ? static_cast<double>(scale)
                             : 1 / std::sqrt(static_cast<double>(known(node_, query_, 3))));
    const Value turned =
        node_.add("Transpose", {key_}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    const Value part = node_.scalar(factor);
    products_ =
        node_.add("MatMul", {node_.add("Mul", {query_, part}), node_.add("Mul", {turned, part})});
    const float cap = node_.attributes().number("softcap", 0);
    if (cap <= 0) return products_;
    const Value limit = node_.scalar(cap);
    return node_.add("Mul", {node_.add("Tanh", {node_.add("Div", {products_, limit})}), limit});
  }

  Value minus_infinity() { return node_.scalar(-std::numeric_limits<double>::infinity()); }

  // Returns the mask as an additive term. A mask may be shorter than the keys; keys past its end
  // are masked.
  Value mask() {
    Value mask = node_.input(3);
    if (!mask) return none;
    if (node_.graph().dtype(mask) == DType::boolean)
      mask = node_.add("Where", {mask, node_.scalar(0), minus_infinity()});
    const Shape shape = node_.graph().shape(mask);
    const Dim& length = shape.back();
    const Dim keys = node_.graph().shape(key_)[2];
    if (!length.known() || !keys.known() || length.size() == 1 || length.size() >= keys.size())
      return mask;
    std::vector<int64_t> pads(2 * shape.size(), 0);
    pads.back() = keys.size() - length.size();
    return node_.add("Pad", {mask, node_.vector(pads), minus_infinity()});
  }

  // Returns the causal mask: query i sees key j if j <= i + the number of past keys.
  Value causal() {
    const int64_t queries = known(node_, query_, 2), keys = known(node_, key_, 2);
    const int64_t before = node_.input(4) ? known(node_, node_.input(4), 2) : 0;
    std::vector<char> sees;
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j) sees.push_back(j <= i + before ? 1 : 0);
    Literal allowed(DType::boolean, {queries, keys});
    std::copy(sees.begin(), sees.end(), reinterpret_cast<char*>(allowed.bytes().data()));
    return node_.add("Where",
                     {node_.constant(std::move(allowed)), node_.scalar(0), minus_infinity()});
  }

  Value bias() {
    const Value given = mask();
    if (node_.attributes().integer("is_causal", 0) == 0) return given;
    return given ? node_.add("Add", {given, causal()}) : causal();
  }

  // Gives a fully masked query zeros; softmax alone would make NaN.
  Value weights(Value scores, Value bias) {
    const Attributes last{{"axis", int64_t{-1}}};
    if (!bias) return node_.add("Softmax", {scores}, last);
    const Value most = node_.add("ReduceMax", {bias},
                                 {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}});
    const Value blind = node_.add("Equal", {most, minus_infinity()});
    const Value zero = node_.scalar(0);
    const Value open = node_.add("Where", {blind, zero, bias});
    const Value weights = node_.add("Softmax", {node_.add("Add", {scores, open})}, last);
    return node_.add("Where", {blind, zero, weights});
  }

  NewerNode& node_;
  bool flat_;  // true for 3 dimensions: all heads in one axis
  Value query_, key_, value_, products_;
};

}  // namespace

void write_attention(NewerNode& node) { Attention(node).write(); }

void write_rotary_embedding(NewerNode& node) {
  const Value x = node.input(0);
  const std::size_t rank = node.shape(0).size();
  if (rank != 3 && rank != 4)
    fail(node.description(), ": data has ", rank, " dimensions, needs 3 or 4");
  const bool flat = rank == 3;
  const int64_t heads = node.attributes().integer("num_heads", 0);
  if (flat && heads < 1) fail(node.description(), ": num_heads should be positive, is ", heads);
  // [batch, positions, heads, width]: the angles are the same for every head.
  const std::vector<int64_t> swap{0, 2, 1, 3};
  const Value apart = flat ? node.add("Reshape", {x, node.vector({0, 0, heads, -1})})
                           : node.add("Transpose", {x}, {{"perm", swap}});
  const int64_t width = known(node, apart, 3);
  int64_t turned = node.attributes().integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = width;
  if (turned < 0 || turned > width || turned % 2 != 0)
    fail(node.description(),
         ": rotary_embedding_dim should be even and at most the width of a head, is ", turned,
         " of ", width);
  auto angles = [&](std::size_t operand) {
    const Value all = node.input(operand);
    const Value at = node.input(3) ? node.add("Gather", {all, node.input(3)}) : all;
    return node.add("Unsqueeze", {at, node.vector({2})});
  };
  auto part = [&](Value from, int64_t start, int64_t end, int64_t step) {
    return node.add("Slice", {from, node.vector({start}), node.vector({end}), node.vector({3}),
                              node.vector({step})});
  };
  const bool interleaved = node.attributes().integer("interleaved", 0) != 0;
  const int64_t half = turned / 2;
  const Value a = interleaved ? part(apart, 0, turned, 2) : part(apart, 0, half, 1);
  const Value b = interleaved ? part(apart, 1, turned, 2) : part(apart, half, turned, 1);
  const Value cosine = angles(1), sine = angles(2);
  Value real = node.add("Sub", {node.add("Mul", {cosine, a}), node.add("Mul", {sine, b})});
  Value imaginary = node.add("Add", {node.add("Mul", {sine, a}), node.add("Mul", {cosine, b})});
  Value rotated;
  if (interleaved) {
    const Value axis = node.vector({4});
    real = node.add("Unsqueeze", {real, axis});
    imaginary = node.add("Unsqueeze", {imaginary, axis});
    const Value pairs = node.add("Concat", {real, imaginary}, {{"axis", int64_t{4}}});
    rotated = node.add("Reshape", {pairs, node.vector({0, 0, 0, turned})});
  } else {
    rotated = node.add("Concat", {real, imaginary}, {{"axis", int64_t{3}}});
  }
  if (turned < width)
    rotated = node.add("Concat", {rotated, part(apart, turned, width, 1)}, {{"axis", int64_t{3}}});
  if (flat)
    node.become("Reshape", {rotated, node.shape_of(x)});
  else
    node.become("Transpose", {rotated}, {{"perm", swap}});
}

}  // namespace lockstep
