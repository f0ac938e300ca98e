#include "tools/train/agreement.h"

#include <algorithm>

#include "graph/error.h"
#include "runtime/device.h"

namespace lockstep {
namespace {

bool is_local(const std::string& key) {
  return key == "OUTPUT_DIR" || key == "DATA.ROOT" || key == "DATA.THREADS" || key == "THREADS";
}

// Which they are is a process's own business; how many, and of which kind, is everyone's.
std::string number_and_kind(const std::vector<Device>& devices) {
  const auto of_kind = [&](DeviceKind kind) {
    return std::count_if(devices.begin(), devices.end(),
                         [&](const Device& device) { return device.kind == kind; });
  };
  const auto cpus = of_kind(DeviceKind::cpu), gpus = of_kind(DeviceKind::gpu);
  return join(cpus > 0 ? join(cpus, " x cpu") : "", cpus > 0 && gpus > 0 ? ", " : "",
              gpus > 0 ? join(gpus, " x gpu") : "");
}

}  // namespace

Entries to_be_agreed_on(const TrainConfig& config) {
  Entries entries;
  for (const auto& [key, value] : config.entries())
    if (!is_local(key))
      entries.emplace_back(
          key, key == "DEVICES" ? number_and_kind(parse_devices(config.devices)) : value);
  return entries;
}

}  // namespace lockstep
