// Where a replica runs. A Device is a small value; CPU devices are virtual: cpu:0 and cpu:1 are two
// replicas that share this machine's cores.
#pragma once

#include <cstddef>
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

// Of every value in a plan's memory: a cache line; on GPUs what their libraries take for granted.
constexpr std::size_t alignment_on(DeviceKind kind) { return kind == DeviceKind::gpu ? 256 : 64; }

// "cpu*2", "gpu*8", "gpu:0,gpu:2", "cpu": one device per replica; "gpu:1*4": four replicas on one
// GPU; "gpu:local": that of this process's number on its host. Throws for anything else.
std::vector<Device> parse_devices(std::string_view text);
std::vector<Device> cpu_devices(int count);

int cpu_cores();  // cores this process may use
// What each of `replicas` CPU replicas gets when nothing else is asked for.
int threads_per_replica(int replicas);

}  // namespace lockstep
