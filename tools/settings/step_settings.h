// What a user says of a training step, in a CONFIG.yaml or on a command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "builders/step/data_parallel.h"
#include "runtime/device.h"
#include "tools/settings/key.h"

namespace lockstep {

// Of a replica, and of the reading of images: more than any machine has, fewer than one refuses.
inline constexpr int64_t kMostThreads = 1024;

// `text` may mean others in other processes: gpu:local.
struct NamedDevices {
  std::string text;
  std::vector<Device> list;
};
NamedDevices devices_named(const std::string& text);

// Where a step runs and how; a step that is a file already takes these, too.
struct RunSettings {
  NamedDevices devices = devices_named("cpu");
  int threads = 0;  // of each CPU replica; 0: an equal share of the cores
  bool tf32 = false;
};
ConfigKeys keys_of(RunSettings& run);

// The builder's own options, and what stands for those that follow from others: from devices,
// processes and the batch.
struct StepSettings {
  // Without `replicas`, `scope`, `weighted` and, of `all_reduce`, `processes`, `packing`,
  // `buckets`.
  DataParallelOptions options;
  std::optional<Packing> packing;  // nothing: by the number of processes
  std::string buckets;             // a file with a plan of buckets
};
ConfigKeys keys_of(StepSettings& step);

// Over so many processes with such devices each. Shares of the batch are equal until somebody says
// otherwise.
DataParallelOptions options_of(const StepSettings& step, const std::vector<Device>& devices,
                               int processes = 1);
// Throws naming the key that does not go with them.
void check_fits(const StepSettings& step, const std::vector<Device>& devices, int processes = 1);

}  // namespace lockstep
