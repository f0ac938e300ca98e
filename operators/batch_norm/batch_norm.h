// Batch normalisation: with statistics of the batch, and with statistics that are given.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel_table.h"

namespace lockstep {

struct BatchNormAttrs {
  float epsilon = 1e-5F;
  float momentum = 0.9F;  // how much of the running statistics a step keeps
  bool training = false;  // statistics of the batch
  bool relu = false;      // what comes out goes through a ReLU at once
};
// Of a BatchNormalization or a BatchNormTrain. Writing leaves `training` to the operator's name.
BatchNormAttrs read_batch_norm(const Node& node);
Attributes write_batch_norm(const BatchNormAttrs& attrs);

struct BatchNormGradAttrs {
  float epsilon = 1e-5F;
  bool given = false;  // mean and variance do not depend on x
  bool relu = false;   // dy comes from behind a ReLU and passes where that gave a positive number
  bool added = false;  // z was added before the ReLU: y tells where dy passes; else x tells, too
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
// With the statistics given as mean and variance.
Value batch_norm(Graph& graph, const BatchNormOperands& operands, const BatchNormAttrs& attrs,
                 const Site& site = {});

// Batch norm, what is added to it, and the ReLU behind them become one node, as do their gradients.
Rewritten fuse_batch_norms(const Graph& graph, const std::set<std::string>& known);

// Wishes: whatever has the data's shape lies as the data does.
Layouts batch_norm_layouts(const KernelRequest& request);
Layouts batch_norm_grad_layouts(const KernelRequest& request);

// Takes float32 alone as operands `first` to `first` + 3, the vectors of channels.
Refusal float_vectors(std::size_t first);

std::vector<Op> batch_norm_ops();
std::vector<KernelEntry> batch_norm_cpu();
std::vector<KernelEntry> batch_norm_cuda();

}  // namespace lockstep
