// SPDX-License-Identifier: Apache-2.0
// Settings of a training step, from a CONFIG.yaml or a command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config/key.h"
#include "builders/step/data_parallel.h"
#include "runtime/device.h"

namespace lockstep {

// For a replica, and for reading images: more than any machine has, but within the system's limit.
inline constexpr int64_t kMostThreads = 1024;
// Of all replicas of a process.
inline constexpr int64_t kMostThreadsOfAll = 4096;

// `text` may mean different devices in other processes: gpu:local.
struct NamedDevices {
  std::string text;
  std::vector<Device> list;
};
NamedDevices devices_named(const std::string& text);

// Settings of a run, which also apply to a step from a file.
struct RunSettings {
  NamedDevices devices = devices_named("cpu");
  NamedDevices auxiliaries = {};  // hold no replica; they sum for the replicas
  int threads = 0;                // per CPU replica; 0: an equal share of the cores
  bool tf32 = false;
  bool exact = false;
  bool record = true;  // on GPUs
};
ConfigKeys keys_of(RunSettings& run);
// The devices of a session: those of replicas, then the auxiliary ones.
std::vector<Device> all_devices(const RunSettings& run);

// The builder's options, and the settings from which others are derived by devices, processes and
// batch.
struct StepSettings {
  // Without `replicas`, `scope`, `weighted` and, of `all_reduce`, `processes`, `packing`,
  // `buckets`.
  DataParallelOptions options;
  std::optional<Packing> packing;  // empty: chosen by the number of processes
  std::string buckets;             // a file with a bucket plan
};
ConfigKeys keys_of(StepSettings& step);

// The options for so many processes with the run's devices each. Shares of the batch are equal by
// default.
DataParallelOptions options_of(const StepSettings& step, const RunSettings& run, int processes = 1);
// Throws naming the conflicting key.
void check_fits(const StepSettings& step, const RunSettings& run, int processes = 1);

}  // namespace lockstep
