// SPDX-License-Identifier: Apache-2.0
// Quantisation: options of newer opsets, and operators that are written with QuantizeLinear.
#include "graph/opset/rewrites.h"

namespace lockstep {
namespace {

// The integers of operand `i` minus the zero point, operand `zero`, as int32.
Value from_zero(NewerNode& node, std::size_t i, std::size_t zero, bool by_row) {
  const Value x = node.cast(node.input(i), DType::int32);
  if (!node.input(zero)) return x;
  Value point = node.cast(node.input(zero), DType::int32);
  const bool one = node.shape(zero).empty() || node.shape(zero) == Shape{1};
  // One zero point for each row of the left matrix: a column.
  if (by_row && !one && node.shape(zero).size() == 1)
    point = node.add("Unsqueeze", {point, node.vector({1})});
  return node.add("Sub", {x, point});
}

void refuse_blocks(const NewerNode& node) {
  if (node.attributes().integer("block_size", 0) != 0)
    node.refuse("block_size is not supported; a scale is for the whole tensor or for a slice");
}

void refuse_other_types(const NewerNode& node, DType type) {
  if (type != DType::int8 && type != DType::uint8)
    node.refuse("takes int8 or uint8, not ",
                name_of(type).empty() ? "another type" : name_of(type));
}

}  // namespace

// saturate applies to float8. output_dtype is the type without a zero point.
void quantize_to_bytes(NewerNode& node) {
  refuse_blocks(node);
  constexpr auto kFloat = static_cast<int64_t>(DType::float32);
  const int64_t given = node.attributes().integer("output_dtype", 0);
  const int64_t precision = node.attributes().integer("precision", 0);
  if (precision != 0 && precision != kFloat) node.refuse("divides as float32 only");
  const DType type = node.input(2) ? node.graph().dtype(node.input(2))
                     : given != 0  ? static_cast<DType>(given)
                                   : DType::uint8;
  refuse_other_types(node, type);
  if (node.dtype() != DType::float32 || node.graph().dtype(node.input(1)) != DType::float32)
    node.refuse("takes data and scales of float32, not ", node.dtype());
  for (const char* name : {"saturate", "output_dtype", "block_size", "precision"})
    node.drop_attribute(name);
  if (!node.input(2) && type == DType::int8)
    node.set_inputs({node.input(0), node.input(1),
                     node.cast(node.add("Mul", {node.input(1), node.scalar(0)}), DType::int8)});
}

void dequantize_bytes(NewerNode& node) {
  refuse_blocks(node);
  constexpr auto kFloat = static_cast<int64_t>(DType::float32);
  const int64_t given = node.attributes().integer("output_dtype", 0);
  if (node.dtype() != DType::int32) refuse_other_types(node, node.dtype());
  if ((given != 0 && given != kFloat) || node.graph().dtype(node.input(1)) != DType::float32)
    node.refuse("takes scales of float32, and makes float32");
  node.drop_attribute("output_dtype");
  node.drop_attribute("block_size");
}

// The range of the data, with 0, becomes 0..255.
void write_dynamic_quantize(NewerNode& node) {
  const Value x = node.input(0), zero = node.scalar(0);
  const auto bound = [&](const char* reduce, const char* extend) {
    const Value all = node.add(reduce, {x}, {{"keepdims", int64_t{0}}});
    return node.add(extend, {all, zero});
  };
  const Value low = bound("ReduceMin", "Min"), high = bound("ReduceMax", "Max");
  const Value scale = node.add("Div", {node.add("Sub", {high, low}), node.scalar(255)});
  const Value place = node.add("Neg", {node.add("Div", {low, scale})});
  const Value rounded = node.add("Round", {node.add("Clip", {place, zero, node.scalar(255)})});
  const Value point = node.cast(rounded, DType::uint8);
  if (node.wants(1)) node.become("Identity", {scale}, {}, 1);
  if (node.wants(2)) node.become("Identity", {point}, {}, 2);
  node.become("QuantizeLinear", {x, scale, point});
}

void write_integer_product(NewerNode& node) {
  node.become("MatMul", {from_zero(node, 0, 2, true), from_zero(node, 1, 3, false)});
}

// Operands: a, its scale and zero point, b, its scale and zero point, the result's.
void write_quantized_product(NewerNode& node) {
  const auto one = [&](std::size_t i) {
    return node.shape(i).empty() || node.shape(i) == Shape{1};
  };
  for (std::size_t i : {1, 4, 6})
    if (!one(i) || node.graph().dtype(node.input(i)) != DType::float32)
      node.refuse("takes one scale of float32 for a tensor");
  const Value product =
      node.add("MatMul", {from_zero(node, 0, 2, true), from_zero(node, 3, 5, false)});
  const Value scale = node.add("Mul", {node.input(1), node.input(4)});
  const Value real = node.add("Mul", {node.cast(product, DType::float32), scale});
  node.become("QuantizeLinear", {real, node.input(6), node.input(7)});
}

}  // namespace lockstep
