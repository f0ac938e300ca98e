// SPDX-License-Identifier: Apache-2.0
// Settings of a training step, from a CONFIG.yaml or a command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config/key.h"
#include "builders/all_reduce/all_reduce.h"
#include "lockstep/data_parallel.h"
#include "lockstep/device.h"

namespace lockstep {

// Per replica, and for reading images. More than any machine has, but within the system's limit.
inline constexpr int64_t kMostThreads = 1024;
// Of all replicas of a process together.
inline constexpr int64_t kMostThreadsOfAll = 4096;

// Devices and their text, which may name other devices in other processes: gpu:local.
struct NamedDevices {
  std::string text;
  std::vector<Device> list;
};
NamedDevices devices_named(const std::string& text);

// Settings of a run, which also apply to a step from a file.
struct RunSettings {
  NamedDevices devices = devices_named("cpu");
  NamedDevices auxiliaries = {};  // devices without a replica, which sum for the replicas
  int threads = 0;                // per CPU replica; 0: an equal share of the cores
  bool tf32 = false;
  bool exact = false;
  bool record = true;  // on GPUs
};
ConfigKeys keys_of(RunSettings& run);
// The devices of a session: the replicas' devices, then the auxiliary devices.
std::vector<Device> all_devices(const RunSettings& run);

// The builder's options, and settings from which other options are derived by devices, processes
// and batch.
struct StepSettings {
  // `replicas`, `scope` and `weighted` are unset; so are `processes`, `packing` and `buckets` of
  // `all_reduce`.
  DataParallelOptions options;
  std::optional<Packing> packing;  // empty: chosen by the number of processes
  std::string buckets;             // a file with a bucket plan
};
ConfigKeys keys_of(StepSettings& step);

// The options for all processes, each with the run's devices. Shares of the batch are equal by
// default.
DataParallelOptions options_of(const StepSettings& step, const RunSettings& run, int processes = 1);
// Throws naming the conflicting key.
void check_fits(const StepSettings& step, const RunSettings& run, int processes = 1);

}  // namespace lockstep
