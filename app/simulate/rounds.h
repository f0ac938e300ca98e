// SPDX-License-Identifier: Apache-2.0
// An all-reduce as rounds of messages. The messages of a round share the links; the next round
// begins when the last message has arrived and its values are added. docs/simulate.md has the law.
#pragma once

#include <array>
#include <vector>

#include "app/simulate/cluster.h"
#include "lockstep/all_reduce.h"

namespace lockstep {

// A message of a round; `share` of the whole tensor.
struct RoundMessage {
  int from = 0, to = 0;
  double share = 0;
};

// One round, or several equal rounds. Shares are of the whole tensor.
struct SumRound {
  double times = 1;
  // True if values travel in the wire's type. Replicas of a process that sum in shared memory read
  // whole values.
  bool narrow = true;
  std::array<bool, kLinkKinds> used = {};
  std::array<double, kLinkKinds> load = {};  // of the busiest port
  double added = 0;                          // by the busiest device
  double messages = 0, sent = 0;             // of all devices
};

struct AllReduceCase {
  AllReduceRange range;
  int64_t turn = 0;                  // number of tensors summed before: gatherers take turns
  std::vector<int> ring_order = {};  // as in AllReduceOptions
  friend bool operator==(const AllReduceCase&, const AllReduceCase&) = default;
};

// The rounds of an algorithm over all devices of a cluster, for a tensor that divides evenly.
// Throws for an algorithm without a law.
std::vector<SumRound> rounds_of(const AllReduceCase& which, const Cluster& cluster);

// The cost law: for each round the latency, the bytes of the busiest port over its bandwidth, and
// the additions of the busiest device. `wire`: bytes on the wire for each byte of the tensor.
double seconds_of(const std::vector<SumRound>& rounds, const Cluster& cluster, double bytes,
                  double wire);
double messages_of(const std::vector<SumRound>& rounds);
double bytes_sent(const std::vector<SumRound>& rounds, double bytes, double wire);

// The seconds in which a device adds up values: each byte is read twice and written once.
double adding_seconds(const Cluster& cluster, double bytes);

}  // namespace lockstep
