// SPDX-License-Identifier: Apache-2.0
// The device that a replica runs on. CPU devices are virtual: cpu:0 and cpu:1 are two replicas that
// share this machine's cores.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

enum class DeviceKind { cpu, gpu };

struct DeviceInfo {
  DeviceKind kind;
  std::string_view text;   // in lists of devices, and the scope of replicas: "gpu"
  std::string_view name;   // in sentences: "GPU"
  std::size_t alignment;   // of values in a plan's memory, in bytes
  bool in_host_memory;     // all devices of the kind read and write the host's memory
  bool has_queues;         // work waits in queues; communication has a separate queue
  bool is_hardware;        // an index names a device of the machine; otherwise it is only a number
  std::string_view added;  // how a build gets kernels for the kind
};
std::span<const DeviceInfo> all_device_kinds();
const DeviceInfo& info_of(DeviceKind kind);

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;

  const DeviceInfo& info() const { return info_of(kind); }
  friend bool operator==(Device, Device) = default;
};

std::string text_of(Device device);  // "gpu:1"

// Parses one device per replica: "cpu", "cpu*2", "gpu*8", "gpu:0,gpu:2". "gpu:1*4": four replicas
// on one GPU. "gpu:local": the GPU with this process's local rank, which the launcher sets. Throws
// an Error for any other text. The devices need not exist on this machine.
std::vector<Device> parse_devices(std::string_view text);
std::vector<Device> cpu_devices(int count);  // cpu:0 to cpu:COUNT-1

}  // namespace lockstep
