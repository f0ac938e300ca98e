// SPDX-License-Identifier: Apache-2.0
// `lockstep simulate`: the step of a model on a cluster, a scaling curve, and the best options.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "app/model_source.h"
#include "app/simulate/search.h"

namespace lockstep {

inline constexpr const char* kSimulationSchema = "lockstep.simulation/1";

struct SimulationRequest {
  ModelRequest model;
  std::string cluster;      // the file
  int most = kMostDevices;  // devices of the scaling curve
  bool each = false;        // simulates every device by itself, too
  bool searches = true;
};

struct ScalingPoint {
  Cluster cluster;                    // of this size
  SimulatedStep step;                 // with the step's own options
  std::optional<SimulatedStep> best;  // with the options found for the cluster
};

struct Simulation {
  std::string source;
  Cluster cluster;
  ReplicaStep replica;
  int replicas = 1;             // of the step
  std::string device = "cpu";   // the kind of its devices
  ReduceChoice choice;          // the step's own options, as the cluster admits them
  bool has_ring_order = false;  // the step's own options name one
  SimulatedStep alone;          // on one device
  SimulatedStep alike;          // on the cluster, one replica for all
  // Every worker with the plans' waits; none with a reason if the step has another size.
  std::optional<SimulatedStep> planned;
  std::string why_not_planned;
  std::optional<SimulatedStep> each;
  std::vector<ScalingPoint> curve;
  std::optional<SearchResult> found;
  TimeSources sources;
  int profiled_devices = 0;  // busy in the profile

  // As planned if possible.
  const SimulatedStep& step() const { return planned ? *planned : alike; }
  double examples() const { return replica.examples * cluster.all_devices(); }
};

Simulation simulate(const SimulationRequest& request);

std::string text_of(const Simulation& simulation);
// The document lockstep.simulation/1, described by docs/schemas/simulation-1.json.
void write_json(std::ostream& out, const Simulation& simulation);

// The options of sums that the keys of a request set, ALL_REDUCE, PACKING, WIRE and RING_ORDER, or
// that a step's file names. Throws for a file that names no algorithm of this version.
ReduceChoice choice_of(const ModelRequest& request, const TrainingModel& model, int processes);

}  // namespace lockstep
