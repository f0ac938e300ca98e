// SPDX-License-Identifier: Apache-2.0
// The networks of `lockstep bench train-step`.
#pragma once

#include <string>

#include "lockstep/net.h"

namespace lockstep {

struct BenchNetwork {
  ModelFn make;
  int64_t classes;
};
// A classifier of models.h, or "lstm": two layers of 512 units over 64 steps of 512 numbers, with a
// classifier of the last state.
// `bytes`: the classifier's images are fed as bytes, which the step normalises.
BenchNetwork bench_network(const std::string& name, bool bytes = false);

}  // namespace lockstep
