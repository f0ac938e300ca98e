// SPDX-License-Identifier: Apache-2.0
// Lockstep's operators and kernels, and the functions that add operators to a graph. Each function
// throws an Error if the operands do not fit. layers.h has the operators that have parameters.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

// All of Lockstep's operators; made once, lives as long as the program.
const OpSet& all_ops();
// One table per kind of device supported by this build; lives as long as the program.
const std::vector<KernelTable>& all_kernels();
// For users who add operators: the CPU kernels of all_ops() and of `own`. Make `ops` of
// all_ops().ops() and the records of the new operators, build the model with `ops`, and give this
// table to the session.
std::vector<KernelTable> cpu_kernels_with(const OpSet& ops, std::vector<KernelEntry> own);

// ---- reductions over replicas; all_reduce.h has the options
enum class Reduction { sum, mean };

// ---- element by element; operands broadcast
Value add(Graph& graph, Value a, Value b, const Site& site = {});
Value sub(Graph& graph, Value a, Value b, const Site& site = {});
Value mul(Graph& graph, Value a, Value b, const Site& site = {});
Value div(Graph& graph, Value a, Value b, const Site& site = {});
Value neg(Graph& graph, Value x, const Site& site = {});
Value clip(Graph& graph, Value x, float low, float high, const Site& site = {});
// bool
Value equal(Graph& graph, Value a, Value b, const Site& site = {});
Value cast(Graph& graph, Value x, DType to, const Site& site = {});
// factor * x
Value scale(Graph& graph, Value x, float factor, const Site& site = {});
// The sum of weight_i * x_i; weights are tensors of one element.
Value weighted_sum(Graph& graph, const std::vector<std::pair<Value, Value>>& terms,
                   const Site& site = {});

// ---- activations
Value relu(Graph& graph, Value x, const Site& site = {});
Value sigmoid(Graph& graph, Value x, const Site& site = {});
Value tanh(Graph& graph, Value x, const Site& site = {});

// ---- matrix products
// Y = alpha * op(A) op(B) + beta * C, C broadcast.
struct GemmAttrs {
  float alpha = 1;
  float beta = 1;
  bool trans_a = false;
  bool trans_b = false;
};
Value gemm(Graph& graph, Value a, Value b, Value c = none, const GemmAttrs& attrs = {},
           const Site& site = {});
// As numpy's matmul: multiplies the last two dimensions, broadcasts the others.
Value matmul(Graph& graph, Value a, Value b, const Site& site = {});

// ---- normalisation with statistics of each example
struct GroupNormAttrs {
  int64_t groups = 32;
  float epsilon = 1e-5F;
};
// Mean and variance over each group of channels; scale and bias [C] per channel. In ONNX: an
// InstanceNormalization of [N, groups, ..] between reshapes.
Value group_norm(Graph& graph, Value x, Value scale, Value bias, const GroupNormAttrs& attrs = {},
                 const Site& site = {});
Value layer_norm(Graph& graph, Value x, Value scale, Value bias, int64_t axis = -1,
                 float epsilon = 1e-5F, const Site& site = {});

// ---- losses
struct CrossEntropyAttrs {
  std::string reduction = "mean";  // none, sum, mean (weighted, without ignored labels)
  bool ignores = false;            // true: labels equal to ignore_index do not count
  int64_t ignore_index = 0;
};
Value softmax(Graph& graph, Value x, int64_t axis = -1, const Site& site = {});
Value log_softmax(Graph& graph, Value x, int64_t axis = -1, const Site& site = {});
// scores [N, C, d..], labels [N, d..] of integers, weights [C] or none.
Value softmax_cross_entropy(Graph& graph, Value scores, Value labels, Value weights = none,
                            const CrossEntropyAttrs& attrs = {}, const Site& site = {});

// ---- reductions; over all axes if `axes` is empty
Value reduce_sum(Graph& graph, Value x, const std::vector<int64_t>& axes, bool keep_dims,
                 const Site& site = {});
Value reduce_mean(Graph& graph, Value x, const std::vector<int64_t>& axes, bool keep_dims,
                  const Site& site = {});
// int64: the first position of the largest element along `axis`.
Value arg_max(Graph& graph, Value x, int64_t axis, bool keep_dims, const Site& site = {});
// The mean over all spatial dimensions.
Value global_average_pool(Graph& graph, Value x, const Site& site = {});

// ---- selection
// Whole slices of x along `axis`, one per index. Negative indices count from the end.
Value gather(Graph& graph, Value x, Value indices, int64_t axis, const Site& site = {});
// Element by element: indices [a, b, ..] of the result's shape are positions along `axis` of x.
Value gather_elements(Graph& graph, Value x, Value indices, int64_t axis, const Site& site = {});
struct Best {
  Value values, places;  // places: int64, positions along the axis
};
// The k largest along `axis`, best first; equal values in order of position.
Best top_k(Graph& graph, Value x, int64_t k, int64_t axis, const Site& site = {});

// ---- shapes
Value identity(Graph& graph, Value x, const Site& site = {});
// The value itself; no gradient flows through it.
Value stop_gradient(Graph& graph, Value x, const Site& site = {});
// In `shape`, 0 copies a dimension of x, and -1 is computed from the others.
Value reshape(Graph& graph, Value x, const std::vector<int64_t>& shape, const Site& site = {});
// Reshapes to the shape of another value, for any batch.
Value reshape_like(Graph& graph, Value x, Value like, const Site& site = {});
Value flatten(Graph& graph, Value x, int64_t axis = 1, const Site& site = {});
// Dimension i of the result is dimension order[i] of x.
Value transpose(Graph& graph, Value x, const std::vector<int64_t>& order, const Site& site = {});
Value concat(Graph& graph, const std::vector<Value>& parts, int64_t axis, const Site& site = {});
// The elements from `start` up to, not including, `end` along `axis`.
Value slice(Graph& graph, Value x, int64_t axis, int64_t start, int64_t end, const Site& site = {});
// The shape of x as a value: a constant if known, else a Shape node.
Value shape_of(Graph& graph, Value x, const Site& site = {});
// Broadcasts x to the shape of another value.
Value expand_like(Graph& graph, Value x, Value like, const Site& site = {});

}  // namespace lockstep
