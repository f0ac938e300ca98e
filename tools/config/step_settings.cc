#include "tools/config/step_settings.h"

#include <utility>

#include "graph/file.h"
#include "tools/config/read.h"

namespace lockstep {
namespace {

DataParallelOptions options_without_buckets(const StepSettings& step,
                                            const std::vector<Device>& devices, int processes) {
  constexpr int64_t kMebi = 1 << 20;
  DataParallelOptions options = step.options;
  const DataParallelOptions replicas = replicas_on(devices);
  options.scope = replicas.scope;
  options.replicas = replicas.replicas * processes;
  options.all_reduce.processes = processes;
  const Packing ready{PackingRule::ready, 25 * kMebi, 0, kMebi};
  options.all_reduce.packing = step.packing.value_or(processes > 1 ? ready : Packing{});
  return options;
}

}  // namespace

NamedDevices devices_named(const std::string& text) { return {text, parse_devices(text)}; }

DataParallelOptions options_of(const StepSettings& step, const std::vector<Device>& devices,
                               int processes) {
  DataParallelOptions options = options_without_buckets(step, devices, processes);
  if (step.buckets.empty()) return options;
  options.all_reduce.buckets = read_file(step.buckets);
  options.all_reduce.buckets_from = "BUCKETS " + step.buckets;
  return options;
}

void check_fits(const StepSettings& step, const std::vector<Device>& devices, int processes) {
  DataParallelOptions options = options_without_buckets(step, devices, processes);
  const std::vector<int> order = std::exchange(options.all_reduce.ring_order, {});
  naming("ALL_REDUCE", [&] { check_options(options); });
  options.all_reduce.ring_order = order;
  naming("RING_ORDER", [&] { check_options(options); });
}

}  // namespace lockstep
