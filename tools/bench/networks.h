// SPDX-License-Identifier: Apache-2.0
// What `lockstep bench train-step` trains.
#pragma once

#include <string>

#include "builders/net/net.h"

namespace lockstep {

struct BenchNetwork {
  ModelFn make;
  int64_t classes;
};
// A classifier of models.h, or "lstm": two layers of 512 units over 64 steps of 512 numbers, whose
// last state is classified.
// `bytes`: the classifier's images are bytes, which the step normalises.
BenchNetwork bench_network(const std::string& name, bool bytes = false);

}  // namespace lockstep
