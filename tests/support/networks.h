// SPDX-License-Identifier: Apache-2.0
// Small networks over 6x6 images of five classes. Each network has one property that a step over
// several replicas or processes could handle wrongly.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "lockstep/data_parallel.h"

namespace lockstep::testing {

struct SmallNetwork {
  std::string name;
  ModelFn model;
  DataParallelOptions options = {};
};
inline void PrintTo(const SmallNetwork& network, std::ostream* out) { *out << network.name; }
const std::vector<SmallNetwork>& small_networks();
const SmallNetwork& small_network(const std::string& name);

// Returns the network with batch norm, on replicas named cpu_k.
TrainingModel small_bn_net(int replicas, DataParallelOptions options = {});

}  // namespace lockstep::testing
