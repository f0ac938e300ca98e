// SPDX-License-Identifier: Apache-2.0
// The links between replicas, which the cost model and the algorithm `auto` go by.
#pragma once

#include <string>

namespace lockstep {

struct Link {
  double latency = 0;    // seconds
  double bandwidth = 1;  // bytes per second
};
struct Topology {
  Link within{2e-6, 10e9};    // between replicas of one process
  Link across{30e-6, 1.2e9};  // between processes
  double adding = 20e9;       // bytes per second that one replica sums
};

// "2us:10G/30us:1.2G": latency and bandwidth (bytes per second; K, M, G of 1000) within a process
// and across; without a / the same for both.
Topology parse_topology(const std::string& text);
// Read back exactly by parse_topology(); "" for the default.
std::string text_of(const Topology& topology);

}  // namespace lockstep
