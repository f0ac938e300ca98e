// SPDX-License-Identifier: Apache-2.0
// Pooling over spatial windows.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"
#include "lockstep/operators.h"
#include "operators/kit/window.h"

namespace lockstep {

struct PoolAttrs {
  Window window;
  bool count_include_pad = false;  // AveragePool: padding counts in the mean
};
PoolAttrs read_pool(AttributeReader& attributes);
PoolAttrs pool_attrs_of(const KernelRequest& request);
PoolAttrs global_window(const Dims& x);  // one window over the whole plane

// Refusals of an AveragePool and of its gradient. If padding counts and a window reaches past the
// padding, ONNX does not count the positions past the padding; these kernels do.
std::string past_padding(const KernelRequest& request);
std::string past_padding_back(const KernelRequest& request);

// The number for a window that has only padding. MaxPoolPlaces numbers the positions of a window in
// row-major order.
constexpr uint8_t kNoPlace = 255;
// Replaces each MaxPool that has a gradient by a MaxPoolPlaces, which keeps the maxima's numbers.
// The gradient then neither reads the operand nor searches for the maxima.
Rewritten keep_places_of_maxima(const Graph& graph, const RewriteContext& context);

Value max_pool(Graph& graph, Value x, const Window& window, const Site& site = {});

std::vector<Op> pool_ops();
std::vector<KernelEntry> pool_cpu();
std::vector<KernelEntry> max_places_cpu();  // a part of pool_cpu()
std::vector<KernelEntry> pool_cuda();

}  // namespace lockstep
