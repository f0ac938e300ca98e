// Pooling over spatial windows.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "operators/kit/window.h"
#include "runtime/kernel_table.h"

namespace lockstep {

struct PoolAttrs {
  Window window;
  bool count_include_pad = false;  // AveragePool: padding counts in the mean
};
PoolAttrs read_pool(AttributeReader& attributes);
PoolAttrs pool_attrs_of(const KernelRequest& request);
PoolAttrs global_window(const Dims& x);  // one window over everything

// Refusals of an AveragePool and of its gradient. If padding counts and a window reaches past it,
// ONNX counts only the window's real places; these kernels do not.
std::string past_padding(const KernelRequest& request);
std::string past_padding_back(const KernelRequest& request);

Value max_pool(Graph& graph, Value x, const Window& window, const Site& site = {});
Value average_pool(Graph& graph, Value x, const PoolAttrs& attrs, const Site& site = {});
Value global_average_pool(Graph& graph, Value x, const Site& site = {});

std::vector<Op> pool_ops();
std::vector<KernelEntry> pool_cpu();
std::vector<KernelEntry> pool_cuda();

}  // namespace lockstep
