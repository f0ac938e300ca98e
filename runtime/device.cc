// SPDX-License-Identifier: Apache-2.0
#include "lockstep/device.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

int parse_count(std::string_view text, std::string_view whole) {
  int number = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  check(error == std::errc() && end == text.data() + text.size() && number >= 0, "'", whole,
        "' is not a list of devices; write cpu*2, gpu*8 or gpu:0,gpu:2");
  return number;
}

// Alignments: a cache line on CPUs; the value that GPU libraries assume on GPUs.
constexpr DeviceInfo kKinds[] = {{.kind = DeviceKind::cpu,
                                  .text = "cpu",
                                  .name = "CPU",
                                  .alignment = 64,
                                  .in_host_memory = true,
                                  .has_queues = false,
                                  .is_hardware = false,
                                  .added = "every build has them"},
                                 {.kind = DeviceKind::gpu,
                                  .text = "gpu",
                                  .name = "GPU",
                                  .alignment = 256,
                                  .in_host_memory = false,
                                  .has_queues = true,
                                  .is_hardware = true,
                                  .added = "`make build` adds them where CUDA's nvcc is, see "
                                           "`lockstep doctor`"}};

DeviceKind parse_kind(std::string_view text, std::string_view whole) {
  for (const DeviceInfo& info : kKinds)
    if (text == info.text) return info.kind;
  fail("'", whole, "' is not a list of devices: '", text,
       "' is neither cpu nor gpu; write cpu*2, gpu*8 or gpu:0,gpu:2");
}

// Parses a number, or `local`: the process's number on its host.
int parse_index(std::string_view text, std::string_view whole) {
  if (text != "local") return parse_count(text, whole);
  for (const char* name : {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
    if (const char* rank = std::getenv(name)) return parse_count(rank, join(name, "=", rank));
  fail("'", whole,
       "' is the GPU of the process's local rank, but LOCAL_RANK is not set; lockstep launch, "
       "torchrun, Open MPI and Slurm set it");
}

void check_number(std::size_t devices, std::string_view text) {
  check(devices <= kMostReplicas, "'", text.substr(0, 80), "' names more than ", kMostReplicas,
        " devices");
}

}  // namespace

std::span<const DeviceInfo> all_device_kinds() { return kKinds; }

const DeviceInfo& info_of(DeviceKind kind) {
  return *std::ranges::find(kKinds, kind, &DeviceInfo::kind);
}

std::string text_of(Device device) { return join(device.info().text, ":", device.index); }

std::vector<Device> parse_devices(std::string_view text) {
  std::vector<Device> devices;
  std::string_view rest = text;
  while (true) {
    std::string_view item = rest.substr(0, rest.find(','));
    if (auto star = item.find('*'); star != item.npos) {
      DeviceKind kind = parse_kind(item.substr(0, std::min(star, item.find(':'))), text);
      const auto one = item.substr(0, star).find(':');
      int count = parse_count(item.substr(star + 1), text);
      check(count > 0, "'", text, "' names no device; the number after * should be at least 1");
      check_number(devices.size() + count, text);
      if (one == item.npos) {
        for (int i = 0; i < count; ++i) devices.push_back({kind, i});
      } else {
        check(info_of(kind).is_hardware, "'", text,
              "': every CPU replica is a separate device; write cpu*2");
        const int index = parse_index(item.substr(one + 1, star - one - 1), text);
        for (int i = 0; i < count; ++i) devices.push_back({kind, index});
      }
    } else {
      auto colon = item.find(':');
      Device device{parse_kind(item.substr(0, colon), text), 0};
      if (colon != item.npos) device.index = parse_index(item.substr(colon + 1), text);
      check(std::find(devices.begin(), devices.end(), device) == devices.end(), "'", text,
            "' lists ", device, " twice");
      devices.push_back(device);
      check_number(devices.size(), text);
    }
    if (item.size() == rest.size()) return devices;
    rest.remove_prefix(item.size() + 1);
  }
}

std::vector<Device> cpu_devices(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back({DeviceKind::cpu, i});
  return devices;
}

}  // namespace lockstep
