// SPDX-License-Identifier: Apache-2.0
// Clusters and steps for tests of the simulator.
#pragma once

#include <string>
#include <utility>

#include "app/model_source.h"
#include "app/simulate/cluster.h"

namespace lockstep::testing {

inline constexpr const char* kTwoDevices = R"(DEVICES: 2
DEVICE: {FLOPS: 1e12, BANDWIDTH: 12e9}
LINKS: {WITHIN: 1ms:1M, PROCESSES: 2ms:500K, HOSTS: 4ms:250K, SHARED: []}
)";

inline Cluster cluster_of(int hosts, int devices, int processes, bool shared) {
  Cluster cluster = parse_cluster(kTwoDevices, "two.yaml");
  cluster.hosts = hosts;
  cluster.devices = devices;
  cluster.processes = processes;
  for (ClusterLink& link : cluster.links) link.shared = shared;
  return cluster;
}

inline SourcedModel source_of(TrainingModel model, int64_t rows_of_each) {
  SourcedModel source{LoadedModel{std::move(model)}, RunSettings{.devices = {}, .threads = 1}, {}};
  source.shares = {.batch = rows_of_each * source.model.replicas,
                   .replicas = source.model.replicas};
  return source;
}

}  // namespace lockstep::testing
