// SPDX-License-Identifier: Apache-2.0
// Initial values of parameters. Each is a small function that adds a fill to the init graph;
// `stream` gives each parameter its own random numbers.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace lockstep {

using Initializer =
    std::function<Value(Graph& init, const Dims& dims, int stream, const Site& site)>;

Initializer constant(float value);
Initializer given(Literal value);  // the value from a file
Initializer gaussian(float deviation, float mean = 0);
Initializer uniform(float low, float high);
// Weights are [outputs, inputs, kernel..]. fan_in = inputs * kernel, fan_out = outputs * kernel.
Initializer msra();    // gaussian, deviation sqrt(2 / fan_out), as Caffe2's MSRAFill
Initializer glorot();  // uniform within +-sqrt(6 / (fan_in + fan_out)), as Keras
Initializer xavier();  // uniform within +-sqrt(3 / fan_in), as Caffe2's XavierFill

}  // namespace lockstep
