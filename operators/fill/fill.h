// SPDX-License-Identifier: Apache-2.0
// Operators that make tensors: constants. Functions that add random initial values.
#pragma once

#include <vector>

#include "lockstep/graph.h"
#include "lockstep/kernel.h"
#include "lockstep/op.h"

namespace lockstep {

// Random numbers depend on (seed of the session, `stream`, position). Give every fill of a model a
// separate stream.
Value random_normal(Graph& graph, const Dims& shape, float mean, float deviation, int stream,
                    const Site& site = {});
Value random_uniform(Graph& graph, const Dims& shape, float low, float high, int stream,
                     const Site& site = {});
Value constant_fill(Graph& graph, const Dims& shape, float value, const Site& site = {});

std::vector<Op> fill_ops();
std::vector<KernelEntry> fill_cpu();
std::vector<KernelEntry> fill_cuda();

}  // namespace lockstep
