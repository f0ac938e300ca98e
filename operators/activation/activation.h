// SPDX-License-Identifier: Apache-2.0
// Relu, Sigmoid, Tanh, and their gradients, which read the forward output.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/op.h"
#include "runtime/kernel/table.h"

namespace lockstep {

Value relu(Graph& graph, Value x, const Site& site = {});
Value sigmoid(Graph& graph, Value x, const Site& site = {});
Value tanh(Graph& graph, Value x, const Site& site = {});

std::vector<Op> activation_ops();
std::vector<KernelEntry> activation_cpu();
std::vector<KernelEntry> activation_cuda();

}  // namespace lockstep
