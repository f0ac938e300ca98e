// SPDX-License-Identifier: Apache-2.0
// Writes the rounds of an all-reduce (rounds.h) from the messages of one round after another.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "app/simulate/rounds.h"

namespace lockstep {

using Members = std::vector<int>;  // devices

// Counts the messages of a round on the ports of a cluster, as EventSimulation has them.
class PortLoads {
 public:
  explicit PortLoads(const Cluster& cluster) : cluster_(cluster) {
    for (std::size_t kind = 0; kind < kLinkKinds; ++kind) {
      out_[kind].resize(cluster.all_devices());
      in_[kind].resize(cluster.all_devices());
    }
  }

  void send(int from, int to, double share) {
    const LinkKind link = cluster_.between(from, to);
    const auto kind = static_cast<std::size_t>(link);
    const bool shared = cluster_.links[kind].shared;
    round_.used[kind] = true;
    const int sender = shared ? cluster_.host_of(from) : from;
    const int receiver = shared ? cluster_.host_of(to) : to;
    add_load(kind, out_[kind][sender], share);
    if (!shared || link == LinkKind::hosts) add_load(kind, in_[kind][receiver], share);
    ++round_.messages;
    round_.sent += share;
  }
  // Every device of `from` sends to every other device of `to`: counted by process and host, since
  // thousands of devices have millions of pairs.
  void send_all(const Members& from, const Members& to, double share) {
    const Counts senders(cluster_, from), receivers(cluster_, to);
    for (const int device : from) {
      const auto counts = receivers.others(cluster_, device);
      for (std::size_t kind = 0; kind < counts.size(); ++kind)
        load_port(kind, device, counts[kind], share, true);
    }
    for (const int device : to) {
      const auto counts = senders.others(cluster_, device);
      for (std::size_t kind = 0; kind < counts.size(); ++kind)
        load_port(kind, device, counts[kind], share, false);
    }
  }
  void add(double share) { round_.added = std::max(round_.added, share); }

  // Ends the round: its ports are empty again.
  SumRound end(double times, bool narrow) {
    for (std::size_t kind = 0; kind < kLinkKinds; ++kind) {
      if (!round_.used[kind]) continue;
      std::ranges::fill(out_[kind], 0);
      std::ranges::fill(in_[kind], 0);
    }
    SumRound round = round_;
    round.times = times;
    round.narrow = narrow;
    round_ = {};
    return round;
  }

 private:
  // The devices of a set, by process and by host.
  struct Counts {
    std::vector<int> by_process, by_host;
    std::vector<bool> has;
    int all = 0;

    Counts(const Cluster& cluster, const Members& members)
        : by_process(cluster.all_processes(), 0),
          by_host(cluster.hosts, 0),
          has(cluster.all_devices(), false),
          all(static_cast<int>(members.size())) {
      for (const int device : members) {
        ++by_process[cluster.process_of(device)];
        ++by_host[cluster.host_of(device)];
        has[device] = true;
      }
    }
    // The other devices, by the link to `device`: WITHIN, PROCESSES, HOSTS.
    std::array<int, 3> others(const Cluster& cluster, int device) const {
      const int near = by_process[cluster.process_of(device)];
      const int here = by_host[cluster.host_of(device)];
      return {near - (has[device] ? 1 : 0), here - near, all - here};
    }
  };

  // The messages of a device. A bus counts them when they are sent.
  void load_port(std::size_t kind, int device, int count, double share, bool sends) {
    if (count == 0) return;
    const bool shared = cluster_.links[kind].shared;
    const bool is_bus = shared && static_cast<LinkKind>(kind) != LinkKind::hosts;
    round_.used[kind] = true;
    if (sends) {
      round_.messages += count;
      round_.sent += count * share;
    }
    if (is_bus && !sends) return;
    const int place = shared ? cluster_.host_of(device) : device;
    add_load(kind, (sends ? out_ : in_)[kind][place], count * share);
  }

  void add_load(std::size_t kind, double& port, double share) {
    port += share;
    round_.load[kind] = std::max(round_.load[kind], port);
  }

  const Cluster& cluster_;
  std::array<std::vector<double>, kLinkKinds> out_, in_;  // by device, or by host
  SumRound round_;
};

// Adds the rounds of an algorithm one after the other.
class RoundWriter {
 public:
  explicit RoundWriter(const Cluster& cluster) : cluster_(cluster), loads_(cluster) {}

  const Cluster& cluster() const { return cluster_; }
  std::vector<SumRound> rounds() { return std::move(rounds_); }

  void send(int from, int to, double share) {
    if (from != to) loads_.send(from, to, share);
  }
  void send_all(const Members& from, const Members& to, double share) {
    loads_.send_all(from, to, share);
  }
  void add(double share) { loads_.add(share); }
  void end(double times = 1, bool narrow = true) {
    SumRound round = loads_.end(times, narrow);
    if (round.messages > 0 || round.added > 0) rounds_.push_back(round);
  }
  void repeat(std::size_t from, double times, double share) {
    for (std::size_t i = from; i < rounds_.size(); ++i) {
      SumRound& round = rounds_[i];
      round.times *= times;
      for (double* part : {&round.load[0], &round.load[1], &round.load[2], &round.load[3],
                           &round.added, &round.sent})
        *part *= share;
    }
  }
  std::size_t count() const { return rounds_.size(); }

 private:
  const Cluster& cluster_;
  PortLoads loads_;
  std::vector<SumRound> rounds_;
};

}  // namespace lockstep
