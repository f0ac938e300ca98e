// SPDX-License-Identifier: Apache-2.0
// Batch normalisation, with statistics of the batch or with given statistics.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

struct BatchNormAttrs {
  float epsilon = 1e-5F;
  float momentum = 0.9F;  // the fraction of the running statistics that a step keeps
  bool training = false;  // uses the statistics of the batch
  bool relu = false;      // applies a ReLU to the result
  bool clip = false;      // limits the result to low .. high
  float low = 0, high = 0;
};
// Reads a BatchNormalization, a FusedBatchNorm or a BatchNormTrain. `training` is not written as an
// attribute, since the operator's name implies it.
BatchNormAttrs read_batch_norm(const Node& node);
Attributes write_batch_norm(const BatchNormAttrs& attrs);
Attributes write_fused_batch_norm(const BatchNormAttrs& attrs);

struct BatchNormGradAttrs {
  float epsilon = 1e-5F;
  bool given = false;  // mean and variance do not depend on x
  bool relu = false;   // dy belongs to a following ReLU and passes where the ReLU's output was
                       // positive
  bool added = false;  // z was added before the ReLU, so y determines where dy passes; otherwise x
                       // suffices
  bool clip = false;   // dy belongs to a following Clip and passes where the Clip's operand was in
                       // low .. high
  float low = 0, high = 0;
};
BatchNormGradAttrs read_batch_norm_grad(const Node& node);
Attributes write_batch_norm_grad(const BatchNormGradAttrs& attrs);

// The operands of both operators: x [N, C, ..]; the others [C].
struct BatchNormOperands {
  Value x, scale, bias, mean, variance;
};
struct BatchNormResults {
  Value y, mean, variance;  // the running statistics after this batch
};
BatchNormResults batch_norm_train(Graph& graph, const BatchNormOperands& operands,
                                  const BatchNormAttrs& attrs, const Site& site = {});
// Normalises with the given mean and variance.
Value batch_norm(Graph& graph, const BatchNormOperands& operands, const BatchNormAttrs& attrs,
                 const Site& site = {});

// Folds batch norms with given statistics into the preceding convolutions, in graphs that change no
// states. Does nothing if convolutions must be exact. The graph computes new filters and biases
// from states and constants only.
Rewritten fold_batch_norms(const Graph& graph, const RewriteContext& context);

// Fuses each batch norm with the following addition and ReLU, and fuses their gradients.
Rewritten fuse_batch_norms(const Graph& graph, const RewriteContext& context);
// Like fuse_batch_norms(), and also fuses a following Clip, for devices with kernels that support
// it.
Rewritten fuse_batch_norms_and_clips(const Graph& graph, const RewriteContext& context);

// Preferred layouts: all tensors of the data's shape have the data's layout.
Layouts batch_norm_layouts(const KernelRequest& request);
Layouts batch_norm_grad_layouts(const KernelRequest& request);

// Accepts only float32 for operands `first` to `first` + 3, the per-channel vectors.
Refusal float_vectors(std::size_t first);
// Refuses batch norms fused with a Clip.
std::string no_clip(const KernelRequest& request);

std::vector<Op> batch_norm_ops();
std::vector<KernelEntry> batch_norm_cpu();
std::vector<KernelEntry> batch_norm_cuda();

}  // namespace lockstep
