// SPDX-License-Identifier: Apache-2.0
// The time of a step on a cluster, of replicas that are alike: one replica stands for all, and sums
// take what their law says. Or every device is simulated by itself, with every message.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/simulate/replica_step.h"
#include "app/simulate/rounds.h"

namespace lockstep {

// Options of a step that a user may choose for a cluster.
struct ReduceChoice {
  AllReduceSpec spec = {.ranges = {{"collective"}}};
  Packing packing = {};
  std::string buckets = "";  // a bucket plan, instead of a packing
  DType wire = DType::undefined;
  int micro_batches = 1;  // a multiple of the step's own number
  std::vector<int> ring_order = {};

  Buckets buckets_of(const ReplicaStep& step) const;
  double wire_share() const;  // bytes on the wire for each byte of a float32
};

// The choice for a cluster of another size: no more shards than the algorithm has there, and no
// ring order for another number of replicas of a process.
ReduceChoice fitted(ReduceChoice choice, const Cluster& cluster);

struct SimulatedStep {
  double seconds = 0;
  std::array<double, kPhases> phases = {};  // `reduce`: of all sums, hidden or not
  double feeds = 0;
  double exposed = 0;   // communication that no computation hides
  double bytes = 0;     // of the messages of all devices
  double messages = 0;  // their number
  double memory = 0;    // bytes of each device

  double phase(Phase which) const { return phases[static_cast<std::size_t>(which)]; }
};

// The links of a cluster as `auto` knows them.
Topology topology_of(const Cluster& cluster);

class StepSimulator {
 public:
  // Both must outlive the simulator.
  StepSimulator(const ReplicaStep& step, const Cluster& cluster) : step_(step), cluster_(cluster) {}

  // One replica for all.
  SimulatedStep alike(const ReduceChoice& choice) { return run(choice, /*each=*/false); }
  // Every device. Takes a time that grows with the square of the devices and more.
  SimulatedStep each(const ReduceChoice& choice) { return run(choice, /*each=*/true); }

  // The bytes of a device's memory: further micro-batches make activations smaller.
  double memory(int micro_batches) const;

 private:
  SimulatedStep run(const ReduceChoice& choice, bool each);
  const std::vector<SumRound>& law_of(const AllReduceCase& which);

  const ReplicaStep& step_;
  const Cluster& cluster_;
  std::vector<std::pair<AllReduceCase, std::vector<SumRound>>> laws_;
};

inline constexpr int kMostEach = 64;  // devices that each() takes

}  // namespace lockstep
