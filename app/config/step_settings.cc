// SPDX-License-Identifier: Apache-2.0
#include "app/config/step_settings.h"

#include <algorithm>
#include <utility>

#include "app/config/read.h"
#include "builders/all_reduce/all_reduce.h"
#include "graph/file.h"
#include "runtime/plan/compile.h"

namespace lockstep {
namespace {

// All devices of a plan are of one kind. A CPU device is only a number. A GPU is hardware, and a
// replica's GPU already computes for its replica.
void check_auxiliaries(const RunSettings& run) {
  const std::vector<Device>& replicas = run.devices.list;
  for (const Device& device : run.auxiliaries.list) {
    const Device first = replicas.at(0);
    check(device.kind == first.kind, Key{"AUX_DEVICES"}, ": ", device,
          " cannot sum for replicas on ", first,
          ": auxiliary devices must be of the kind of the replicas' devices",
          first.info().in_host_memory
              ? ""
              : "; without AUX_DEVICES, pscpu sums on the host's CPU for replicas on GPUs");
    check(!device.info().is_hardware ||
              std::find(replicas.begin(), replicas.end(), device) == replicas.end(),
          Key{"AUX_DEVICES"}, ": ", device, " holds a replica (", Key{"DEVICES"}, " ",
          run.devices.text, "), but auxiliary devices hold none; name another GPU");
  }
}

DataParallelOptions options_without_buckets(const StepSettings& step, const RunSettings& run,
                                            int processes) {
  check_auxiliaries(run);
  constexpr int64_t kMebi = 1 << 20;
  DataParallelOptions options = step.options;
  const DataParallelOptions replicas = replicas_on(run.devices.list);
  options.scope = replicas.scope;
  options.replicas = replicas.replicas * processes;
  options.all_reduce.processes = processes;
  options.all_reduce.auxiliaries = static_cast<int>(run.auxiliaries.list.size());
  const Packing ready{PackingRule::ready, 25 * kMebi, 0, kMebi};
  options.all_reduce.packing = step.packing.value_or(processes > 1 ? ready : Packing{});
  return options;
}

}  // namespace

NamedDevices devices_named(const std::string& text) { return {text, parse_devices(text)}; }

std::vector<Device> all_devices(const RunSettings& run) {
  std::vector<Device> all = run.devices.list;
  if (!all.empty()) check_auxiliaries(run);
  const int replicas = static_cast<int>(all.size());
  for (Device device : run.auxiliaries.list) {
    if (!device.info().is_hardware) device.index += replicas;
    all.push_back(device);
  }
  return all;
}

DataParallelOptions options_of(const StepSettings& step, const RunSettings& run, int processes) {
  DataParallelOptions options = options_without_buckets(step, run, processes);
  if (step.buckets.empty()) return options;
  options.all_reduce.buckets = read_file(step.buckets);
  options.all_reduce.buckets_from = "BUCKETS " + step.buckets;
  return options;
}

void check_fits(const StepSettings& step, const RunSettings& run, int processes) {
  DataParallelOptions options = options_without_buckets(step, run, processes);
  const std::vector<int> order = std::exchange(options.all_reduce.ring_order, {});
  naming("ALL_REDUCE", [&] { check_options(options); });
  options.all_reduce.ring_order = order;
  naming("RING_ORDER", [&] { check_options(options); });
  const int64_t threads = run.threads * std::ssize(run.devices.list);
  check(threads <= kMostThreadsOfAll, Key{"THREADS"}, " ", run.threads, " for each of ",
        Key{"DEVICES"}, " ", run.devices.text, " makes ", threads,
        " threads; a process may have at most ", kMostThreadsOfAll);
}

}  // namespace lockstep
