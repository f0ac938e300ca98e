// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/cluster.h"

#include <algorithm>
#include <filesystem>

#include "app/config/read.h"
#include "graph/file.h"
#include "graph/listed.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::array<std::string_view, kLinkKinds> kNames{"WITHIN", "PROCESSES", "HOSTS", "COPIES"};

Link link_in(const std::string& text) {
  check(text.find('/') == text.npos, "'", text,
        "' should be one latency:bandwidth, like 30us:1.2G; each kind of link has a key");
  return parse_topology(text).within;
}

// Text that link_in() reads back: an equal link within and across has no second part.
std::string text_of_link(const Link& link) { return text_of(Topology{link, link}); }

// The values of a file before they are checked together.
struct ClusterFile {
  Cluster cluster;
  std::vector<std::string> shared;
};

ConfigKeys keys_of(ClusterFile& file) {
  Cluster& cluster = file.cluster;
  const auto link = [&cluster](LinkKind kind, const char* meaning) {
    return ConfigKey{join("LINKS.", name_of(kind)),
                     parsed(cluster.link(kind).speed, link_in, text_of_link), meaning};
  };
  return {
      {"HOSTS", &cluster.hosts, "number of hosts", {.least = 1, .most = kMostDevices}},
      {"DEVICES",
       &cluster.devices,
       "number of devices of each host",
       {.least = 1, .most = kMostDevices}},
      {"PROCESSES",
       &cluster.processes,
       "number of processes on each host, which share its devices equally",
       {.least = 1, .most = kMostDevices}},
      {"PROFILE", &cluster.profile,
       "trace with the times of kernels, by `lockstep bench train-step --trace`; a relative path "
       "begins at this file; empty: times follow from DEVICE.FLOPS and DEVICE.BANDWIDTH"},
      {"DEVICE.FLOPS",
       &cluster.flops,
       "operations per second of a device's products at best, such as 67e12; 0: not known",
       {.least = 0}},
      {"DEVICE.BANDWIDTH",
       &cluster.bandwidth,
       "bytes per second of a device's memory, such as 4.8e12; 0: not known",
       {.least = 0}},
      {"DEVICE.MEMORY",
       &cluster.memory,
       "bytes of a device's memory, such as 141e9; 0: not known",
       {.least = 0}},
      {"DEVICE.LAUNCH",
       &cluster.launch,
       "seconds that each kernel takes beside its arithmetic and its bytes, such as 4e-6",
       {.least = 0, .most = 1}},
      link(LinkKind::within, "latency:bandwidth between replicas of one process, like 2us:10G"),
      link(LinkKind::processes, "latency:bandwidth between processes of one host"),
      link(LinkKind::hosts, "latency:bandwidth between hosts"),
      link(LinkKind::copies, "latency:bandwidth between a host and a GPU, for feeds"),
      {"LINKS.TAKE_CORES", &cluster.messages_take_cores,
       "messages between processes are work of the cores that compute, as on a host whose cores "
       "all have a replica; computation then hides no sum"},
      {"LINKS.SHARED",
       &file.shared,
       "links that the devices of a host share: WITHIN, PROCESSES, HOSTS, COPIES; other links give "
       "each device its own port",
       {.words = {kNames.begin(), kNames.end()}}},
  };
}

std::vector<std::string> shared_links(const Cluster& cluster) {
  std::vector<std::string> names;
  for (std::size_t kind = 0; kind < kLinkKinds; ++kind)
    if (cluster.links[kind].shared) names.emplace_back(kNames[kind]);
  return names;
}

void take_shared(ClusterFile& file) {
  for (ClusterLink& link : file.cluster.links) link.shared = false;
  for (const std::string& name : file.shared) {
    const auto found = std::ranges::find(kNames, name);
    check(found != kNames.end(), Key{"LINKS.SHARED"}, ": there is no link '", name,
          "'; known: ", listed({kNames.begin(), kNames.end()}));
    file.cluster.links[found - kNames.begin()].shared = true;
  }
}

void check_cluster(const Cluster& cluster) {
  check(cluster.devices % cluster.processes == 0, Key{"PROCESSES"}, " is ", cluster.processes,
        ", but ", Key{"DEVICES"}, " ", cluster.devices,
        " cannot be divided equally among the processes; choose a divisor of ", cluster.devices);
  check(int64_t{cluster.hosts} * cluster.devices <= kMostDevices, Key{"HOSTS"}, " ", cluster.hosts,
        " with ", Key{"DEVICES"}, " ", cluster.devices, " each make ",
        int64_t{cluster.hosts} * cluster.devices, " devices; at most ", kMostDevices,
        " are simulated");
  check((cluster.flops > 0) == (cluster.bandwidth > 0), Key{"DEVICE.FLOPS"}, " is ", cluster.flops,
        " and ", Key{"DEVICE.BANDWIDTH"}, " is ", cluster.bandwidth,
        ": a roofline needs both; give both or neither");
  check(cluster.has_roofline() || !cluster.profile.empty(), Key{"PROFILE"},
        " is empty, so nothing says how long a kernel takes; name a trace, or give ",
        Key{"DEVICE.FLOPS"}, " and ", Key{"DEVICE.BANDWIDTH"});
}

}  // namespace

std::string_view name_of(LinkKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

LinkKind Cluster::between(int from, int to) const {
  if (process_of(from) == process_of(to)) return LinkKind::within;
  return host_of(from) == host_of(to) ? LinkKind::processes : LinkKind::hosts;
}

double Cluster::seconds_of_step(double ends, double computed, double reduced) const {
  const bool one_at_a_time = messages_take_cores && all_processes() > 1;
  return one_at_a_time ? std::max(ends, computed + reduced) : ends;
}

Cluster parse_cluster(const std::string& text, const std::string& path) {
  ClusterFile file;
  file.cluster.name = path;
  file.shared = shared_links(file.cluster);
  ConfigKeys keys = keys_of(file);
  Origins origins;
  check(text.find_first_not_of(" \t\r\n") != text.npos, path,
        ":1: is empty; `lockstep doctor --measure-links` writes a cluster file");
  read_yaml(keys, text, path, &origins);
  placing(origins, path, [&] {
    take_shared(file);
    check_cluster(file.cluster);
  });
  return file.cluster;
}

Cluster read_cluster(const std::string& path) {
  Cluster cluster = parse_cluster(read_file_or_pipe(path), path);
  const std::filesystem::path profile = cluster.profile;
  if (!cluster.profile.empty() && profile.is_relative())
    cluster.profile = (std::filesystem::path(path).parent_path() / profile).string();
  return cluster;
}

std::string yaml_of(const Cluster& cluster) {
  ClusterFile file{cluster, shared_links(cluster)};
  return yaml_of(keys_of(file));
}

Cluster resized(const Cluster& cluster, int devices) {
  Cluster other = cluster;
  if (devices >= cluster.devices) {
    check(devices % cluster.devices == 0, devices, " devices are no multiple of a host's ",
          cluster.devices);
    other.hosts = devices / cluster.devices;
    return other;
  }
  const int each = cluster.per_process();
  check(devices <= each || devices % each == 0, devices, " devices are no multiple of a process's ",
        each);
  other.hosts = 1;
  other.devices = devices;
  other.processes = std::max(1, devices / each);
  return other;
}

std::vector<int> sizes_of_curve(const Cluster& cluster, int most) {
  std::vector<int> sizes;
  for (int wished = 2; wished <= most; wished *= 2) {
    int size = wished;
    if (size > cluster.devices) size -= size % cluster.devices;
    if (size < cluster.devices && size > cluster.per_process())
      size -= size % cluster.per_process();
    if (size > 1 && (sizes.empty() || size > sizes.back())) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace lockstep
