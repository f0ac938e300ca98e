// What an all-reduce should take: a message of n bytes takes latency + n / bandwidth, adding up
// takes its time too. The model behind the algorithm `auto`.
#pragma once

#include <string>

#include "builders/all_reduce/spec.h"

namespace lockstep {

struct Link {
  double latency = 0;    // seconds
  double bandwidth = 1;  // bytes a second
};
struct Topology {
  Link within{2e-6, 10e9};    // between replicas of one worker
  Link across{30e-6, 1.2e9};  // between workers
  double adding = 20e9;       // bytes a second that one replica adds up
};

// "2us:10G/30us:1.2G": latency and bandwidth (bytes a second; K, M, G of 1000) within a worker and
// across; without a / the same for both.
Topology parse_topology(const std::string& text);

// Of one range of a spec, over `replicas` in `workers` equal groups.
double predicted_seconds(const AllReduceRange& range, const Topology& topology, int replicas,
                         int workers, double bytes);

struct Choice {
  AllReduceRange range;
  std::string why;  // "rechd 1.31 ms; collective 1.40, xring 2.80, .."
};
// The fastest by that prediction.
Choice choose_algorithm(const Topology& topology, int replicas, int workers, double bytes);

}  // namespace lockstep
