// SPDX-License-Identifier: Apache-2.0
// A cluster that `lockstep simulate` simulates: hosts, devices and links, as a YAML file.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/key.h"
#include "lockstep/all_reduce.h"

namespace lockstep {

// The links of a cluster, by the ends that they connect.
enum class LinkKind {
  within,     // replicas of one process
  processes,  // processes of one host
  hosts,      // hosts
  copies,     // the memory of a host and a device with memory of its own
};
inline constexpr std::size_t kLinkKinds = 4;
// The name in the file: WITHIN, ..
std::string_view name_of(LinkKind kind);

// A link that is not shared gives each device a port of its own, which sends and receives at the
// full bandwidth at a time. A shared link within a host is one bus for all devices of the host; a
// shared link between hosts is one port for each host.
struct ClusterLink {
  Link speed;
  bool shared = false;
};

struct Cluster {
  std::string name = "cluster";  // the file, for errors and documents
  int hosts = 1;
  int devices = 1;       // of each host
  int processes = 1;     // of each host, with equal numbers of devices
  double flops = 0;      // of a device: products per second at best; 0: not known
  double bandwidth = 0;  // of a device's memory, bytes per second; 0: not known
  double memory = 0;     // bytes of a device; 0: not known, so nothing is too large
  double launch = 0;     // seconds of each kernel beside its arithmetic and its bytes
  // Messages between processes are sent, received and added up by the cores that compute.
  bool messages_take_cores = false;
  std::string profile = "";  // a trace with the times of kernels; "": times by the roofline
  std::array<ClusterLink, kLinkKinds> links = {{{{2e-6, 10e9}, true},
                                                {{30e-6, 1.2e9}, true},
                                                {{30e-6, 1.2e9}, true},
                                                {{10e-6, 20e9}, true}}};

  const ClusterLink& link(LinkKind kind) const { return links[static_cast<std::size_t>(kind)]; }
  ClusterLink& link(LinkKind kind) { return links[static_cast<std::size_t>(kind)]; }
  int all_devices() const { return hosts * devices; }
  int all_processes() const { return hosts * processes; }
  int per_process() const { return devices / processes; }
  int host_of(int device) const { return device / devices; }
  int process_of(int device) const { return device / per_process(); }
  // The link between two devices.
  LinkKind between(int from, int to) const;
  bool has_roofline() const { return flops > 0 && bandwidth > 0; }
  // Seconds to move or add up values in the memory of a device.
  double memory_seconds(double bytes) const { return bandwidth > 0 ? bytes / bandwidth : 0; }
  // Returns the seconds of a step that computes for `computed` and sums for `reduced` seconds, and
  // would end at `ends` if its sums took no core. A core does one of both at a time.
  double seconds_of_step(double ends, double computed, double reduced) const;
};

// Reads the file. Throws an Error with its line and key for values that are wrong or do not fit.
Cluster read_cluster(const std::string& path);
Cluster parse_cluster(const std::string& text, const std::string& path);
// A file that parses to an equal cluster.
std::string yaml_of(const Cluster& cluster);

// The same links and devices for another number of devices: part of one host, or whole hosts.
// Throws if the number is no multiple of a host's devices, or of a process's.
Cluster resized(const Cluster& cluster, int devices);
// The numbers of devices of a scaling curve: 2, 4, 8, .. up to `most`, where hosts are full.
std::vector<int> sizes_of_curve(const Cluster& cluster, int most);

inline constexpr int kMostDevices = 4096;  // of a cluster

}  // namespace lockstep
