// SPDX-License-Identifier: Apache-2.0
// Batch normalisation, with statistics of the batch or with given ones.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

struct BatchNormAttrs {
  float epsilon = 1e-5F;
  float momentum = 0.9F;  // the fraction of the running statistics that a step keeps
  bool training = false;  // statistics of the batch
  bool relu = false;      // applies a ReLU to the result
  bool clip = false;      // limits the result to low .. high
  float low = 0, high = 0;
};
// Reads a BatchNormalization, a FusedBatchNorm or a BatchNormTrain. When written, the operator's
// name implies `training`.
BatchNormAttrs read_batch_norm(const Node& node);
Attributes write_batch_norm(const BatchNormAttrs& attrs);
Attributes write_fused_batch_norm(const BatchNormAttrs& attrs);

struct BatchNormGradAttrs {
  float epsilon = 1e-5F;
  bool given = false;  // mean and variance do not depend on x
  bool relu = false;   // dy is that of a following ReLU and passes where its output was positive
  bool added = false;  // z was added before the ReLU, so y decides where dy passes; else x is
                       // enough
  bool clip = false;   // dy is that of a following Clip and passes where its operand was in
                       // low .. high
  float low = 0, high = 0;
};
BatchNormGradAttrs read_batch_norm_grad(const Node& node);
Attributes write_batch_norm_grad(const BatchNormGradAttrs& attrs);

// The operands of both: x [N, C, ..]; the others [C].
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

// Folds batch norms with given statistics into the convolutions before them, in graphs that change
// no states, unless convolutions must be exact: of states and constants alone the graph makes
// filters and biases that the convolutions take instead of theirs.
Rewritten fold_batch_norms(const Graph& graph, const Known& known);

// Fuses each batch norm with the following addition and ReLU, and likewise their gradients.
Rewritten fuse_batch_norms(const Graph& graph, const Known& known);
// The same, and with a following Clip, for devices whose kernels know it.
Rewritten fuse_batch_norms_and_clips(const Graph& graph, const Known& known);

// Preferred layouts: everything of the data's shape lies as the data does.
Layouts batch_norm_layouts(const KernelRequest& request);
Layouts batch_norm_grad_layouts(const KernelRequest& request);

// Takes only float32 for operands `first` to `first` + 3, the per-channel vectors.
Refusal float_vectors(std::size_t first);
// Refuses batch norms fused with a Clip.
std::string no_clip(const KernelRequest& request);

std::vector<Op> batch_norm_ops();
std::vector<KernelEntry> batch_norm_cpu();
std::vector<KernelEntry> batch_norm_cuda();

}  // namespace lockstep
