// Convolution of any rank, with groups, dilation, strides and asymmetric padding.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "operators/window.h"
#include "runtime/kernel.h"

namespace lockstep {

struct ConvAttrs {
  Window window;
  int64_t group = 1;
};
ConvAttrs read_conv(AttributeReader& attributes);

// x [N, C, spatial..], w [M, C / group, kernel..], bias [M].
Value conv(Graph& graph, Value x, Value w, Value bias = none, const ConvAttrs& attrs = {},
           const Site& site = {});

std::vector<Op> conv_ops();
std::vector<KernelEntry> conv_cpu();

}  // namespace lockstep
