// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/gpu_properties.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/file.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// The properties in which GPUs since sm_80 differ; all other properties are equal.
struct Figures {
  const char* key;
  const char* name;
  const char* source;
  int capability;  // 900: sm_90
  int multiprocessors;
  int64_t memory, cache, shared_of_block;  // bytes; shared: the most shared memory of a block
  int clock, memory_clock;                 // kHz
};
constexpr Figures kKnown[] = {{"h200", "NVIDIA H200", "known properties", 900, 132, 150754820096,
                               62914560, 232448, 1980000, 3201000},
                              {"h100", "NVIDIA H100 80GB HBM3", "published figures", 900, 132,
                               85899345920, 52428800, 232448, 1980000, 2619000},
                              {"a100", "NVIDIA A100-SXM4-80GB", "published figures", 800, 108,
                               85899345920, 41943040, 166912, 1410000, 1593000}};

nlohmann::json properties_of(const Figures& gpu) {
  constexpr int kDriver = 13000;  // CUDA 13.0
  return {{"maxGridSize", {2147483647, 65535, 65535}},
          {"maxBlockSize", {1024, 1024, 64}},
          {"regsPerBlock", 65536},
          {"multiProcessorCount", gpu.multiprocessors},
          {"warpSize", 32},
          {"maxSharedMemoryPerBlock", 49152},
          {"maxSharedMemoryPerBlockOptin", gpu.shared_of_block},
          {"reservedSharedMemoryPerBlock", 1024},
          {"maxRegistersPerSM", 65536},
          {"maxCtasPerSM", 32},
          {"maxThreadsPerBlock", 1024},
          {"maxThreadsPerSM", 2048},
          {"pciDeviceId", 0},
          {"isTccDriver", 0},
          {"supportCoopLaunch", 1},
          {"totalGlobalMem", gpu.memory},
          {"smClockRateKHz", gpu.clock},
          {"memClockRateKHz", gpu.memory_clock},
          {"l2CacheSize", gpu.cache},
          {"cudaDeviceId", 0},
          {"deviceVer", gpu.capability},
          {"driverVer", kDriver},
          {"deviceName", gpu.name}};
}

GpuProperties in_file(const std::string& path) {
  const nlohmann::json read = nlohmann::json::parse(read_file_or_pipe(path), nullptr, false);
  check(read.is_object(), path,
        ": is not JSON of one object, as `lockstep doctor "
        "--device-properties` writes it");
  const nlohmann::json known = properties_of(kKnown[0]);
  for (const auto& [key, value] : known.items())
    check(read.contains(key) && read[key].type_name() == std::string(value.type_name()), path,
          ": '", key, "' is missing, or not a ", value.type_name());
  return {read["deviceName"], "from " + path, read.dump()};
}

}  // namespace

std::vector<std::string> known_gpus() {
  std::vector<std::string> names;
  for (const Figures& gpu : kKnown) names.emplace_back(gpu.key);
  return names;
}

GpuProperties gpu_named(const std::string& name_or_file) {
  for (const Figures& gpu : kKnown)
    if (name_or_file == gpu.key) return {gpu.name, gpu.source, properties_of(gpu).dump()};
  std::string known;
  for (const std::string& name : known_gpus()) known += join(known.empty() ? "" : ", ", name);
  check(std::filesystem::exists(name_or_file), "'", name_or_file, "' is no known GPU (", known,
        ") and no file that `lockstep "
        "doctor --device-properties` wrote");
  return in_file(name_or_file);
}

}  // namespace lockstep
