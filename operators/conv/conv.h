// SPDX-License-Identifier: Apache-2.0
// Convolution of any rank, with groups, dilation, strides and asymmetric padding.
#pragma once

#include <memory>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "operators/kit/window.h"

namespace lockstep {

struct ConvAttrs {
  Window window;
  int64_t group = 1;
};
ConvAttrs read_conv(AttributeReader& attributes);
Attributes write_conv(const ConvAttrs& attrs);

// The attributes of FusedConv, which occurs in plans only. Its operands are a Conv's operands and a
// tensor that is added to the result.
struct FusedConvAttrs {
  ConvAttrs conv;
  bool relu = false;  // applied to the sum
};
FusedConvAttrs read_fused_conv(AttributeReader& attributes);
Attributes write_fused_conv(const FusedConvAttrs& attrs);

// Indices of operands and results.
struct ConvIn {
  enum : std::size_t { x, w, bias, z };  // z: of FusedConv
};
struct ConvOut {
  enum : std::size_t { y, sums, squares };
};
struct ConvGradXIn {
  enum : std::size_t { dy, w, z };  // z: of FusedConvGradX
};
struct ConvGradWIn {
  enum : std::size_t { x, dy };
};

// x [N, C, spatial..], w [M, C / group, kernel..], bias [M].
Value conv(Graph& graph, Value x, Value w, Value bias = none, const ConvAttrs& attrs = {},
           const Site& site = {});

// x [N, C, spatial..], w [C, M / group, kernel..], bias [M]: a transposed convolution, which
// enlarges images.
Value conv_transpose(Graph& graph, Value x, Value w, Value bias = none, const ConvAttrs& attrs = {},
                     const Site& site = {});

// The window of a ConvTranspose and its output's spatial sizes, which auto_pad or output_shape may
// determine. Also reads the attributes that Conv lacks.
struct TransposedWindow {
  Window window;
  std::vector<int64_t> output;
};
TransposedWindow read_transposed(AttributeReader& attributes, const Shape& x, const Shape& w);

// Fuses convolutions with a following addition of a tensor of the same shape (in float32), a
// following ReLU, or both.
Rewritten fuse_convolutions(const Graph& graph, const RewriteContext& context);
// Like fuse_convolutions(), in all precisions. Also fuses convolutions of 16-bit floats with the
// first sums of a following batch norm, for devices with tensor cores.
Rewritten fuse_convolutions_and_sums(const Graph& graph, const RewriteContext& context);

// Fuses gradients of convolutions with respect to their data with a following sum with another
// gradient.
Rewritten fuse_gradient_sums(const Graph& graph, const RewriteContext& context);

std::vector<Op> conv_ops();
std::vector<KernelEntry> conv_cpu();
// Kernels of convolutions on GPUs. With `planned`, the kernels are for plans for a GPU that may be
// absent, and cannot run.
std::vector<KernelEntry> conv_cuda(std::shared_ptr<const struct GpuProperties> planned = nullptr);

}  // namespace lockstep
