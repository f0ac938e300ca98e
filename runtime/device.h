// SPDX-License-Identifier: Apache-2.0
// The device a replica runs on. A Device is a small value. CPU devices are virtual: cpu:0 and cpu:1
// are two replicas that share this machine's cores.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

enum class DeviceKind { cpu, gpu };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  friend bool operator==(Device, Device) = default;
};

std::string text_of(Device device);

// The alignment of values in a plan's memory: a cache line on CPUs; on GPUs what their libraries
// assume.
constexpr std::size_t alignment_on(DeviceKind kind) { return kind == DeviceKind::gpu ? 256 : 64; }

// Parses one device per replica: "cpu", "cpu*2", "gpu*8", "gpu:0,gpu:2". "gpu:1*4": four replicas
// on one GPU. "gpu:local": the GPU with this process's number on its host. Throws for anything
// else.
std::vector<Device> parse_devices(std::string_view text);
std::vector<Device> cpu_devices(int count);

}  // namespace lockstep
