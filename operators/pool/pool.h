// Pooling over spatial windows.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "operators/window.h"
#include "runtime/kernel.h"

namespace lockstep {

struct PoolAttrs {
  Window window;
  bool count_include_pad = false;  // AveragePool: are padded places part of the mean?
};
PoolAttrs read_pool(AttributeReader& attributes);
PoolAttrs pool_attrs_of(const KernelRequest& request);
PoolAttrs global_window(const Dims& x);  // one window over everything

Value max_pool(Graph& graph, Value x, const Window& window, const Site& site = {});
Value average_pool(Graph& graph, Value x, const PoolAttrs& attrs, const Site& site = {});
Value global_average_pool(Graph& graph, Value x, const Site& site = {});

std::vector<Op> pool_ops();
std::vector<KernelEntry> pool_cpu();
std::vector<KernelEntry> pool_cuda();

}  // namespace lockstep
