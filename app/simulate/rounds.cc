// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/rounds.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "app/simulate/round_parts.h"
#include "builders/all_reduce/algorithm.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct Request {
  const AllReduceCase& which;
  Members all, firsts;
  std::vector<Members> processes;
  int64_t shards = 1;

  bool one_process() const { return processes.size() == 1; }
  bool alone() const { return processes[0].size() == 1; }  // in its process
};

// One AllReduce node, or one for each of `shards` parts: in shared memory within a process, and
// directly between the first replicas of processes.
void send_by_nodes(RoundWriter& to, const Request& request) {
  const std::size_t first = to.count();
  if (request.one_process()) {
    scatter_pieces(to, request.all, /*narrow=*/false);
  } else {
    if (!request.alone()) send_to_first(to, request.processes, /*narrow=*/false);
    scatter_pieces(to, request.firsts);
    if (!request.alone()) send_from_first(to, request.processes, /*narrow=*/false);
  }
  to.repeat(first, static_cast<double>(request.shards), 1 / static_cast<double>(request.shards));
}

using Law = std::function<void(RoundWriter&, const Request&)>;

// `across` sums over the first replicas of processes and sends the sum to all replicas.
Law in_levels(const Law& both, const Law& across, bool narrow) {
  return [=](RoundWriter& to, const Request& request) {
    if (request.one_process()) return both(to, request);
    if (!request.alone()) send_to_first(to, request.processes, narrow);
    across(to, request);
  };
}

// A lone gatherer has the sum a round before all other first replicas, and its process gets the
// sum in that round.
void gather_across(RoundWriter& to, const Request& request) {
  const Members gatherers = taking_turns(request.firsts, request.shards, request.which.turn);
  std::vector<Members> early, late;
  for (const Members& process : request.processes)
    (gatherers == Members{process[0]} ? early : late).push_back(process);
  send_by_gatherers(to, request.firsts, gatherers, early);
  send_from_first(to, late);
}

struct LawOf {
  const char* algorithm;
  Law law;
};

const std::vector<LawOf>& all_laws() {
  static const std::vector<LawOf> laws = [] {
    const Law together = [](RoundWriter& to, const Request& request) {
      scatter_pieces(to, request.all, /*narrow=*/false);
    };
    const Law through_first = [](RoundWriter& to, const Request& request) {
      send_by_gatherers(to, request.all, {request.all[0]});
    };
    const Law halving = [](RoundWriter& to, const Request& request) {
      send_by_halving(to, request.firsts);
      send_from_first(to, request.processes);
    };
    const Law ring = [](RoundWriter& to, const Request& request) {
      send_by_rings(to, request.firsts, static_cast<int>(request.firsts.size()), 1, {0});
      send_from_first(to, request.processes);
    };
    return std::vector<LawOf>{
        {"collective", send_by_nodes},
        {"nccl", send_by_nodes},
        {"rechd",
         [](RoundWriter& to, const Request& request) { send_by_halving(to, request.all); }},
        {"bcube",
         [](RoundWriter& to, const Request& request) { send_by_factors(to, request.all); }},
        {"xring",
         [](RoundWriter& to, const Request& request) {
           std::vector<int> order = request.which.ring_order;
           if (order.empty()) {
             order.resize(request.processes[0].size());
             std::iota(order.begin(), order.end(), 0);
           }
           check(order.size() == request.processes[0].size(), "internal: a ring order of ",
                 order.size(), " replicas for processes of ", request.processes[0].size());
           send_by_rings(to, request.all, static_cast<int>(request.processes.size()),
                         request.shards, order);
         }},
        {"pscpu",
         [](RoundWriter& to, const Request& request) {
           send_by_gatherers(to, request.all,
                             taking_turns(request.firsts, request.shards, request.which.turn));
         }},
        {"psgpu",
         [](RoundWriter& to, const Request& request) {
           Members turns;  // the first replica of every process, then the second, ..
           for (std::size_t i = 0; i < request.processes[0].size(); ++i)
             for (const Members& process : request.processes) turns.push_back(process[i]);
           send_by_gatherers(to, request.all,
                             taking_turns(turns, request.shards, request.which.turn));
         }},
        {"simple",
         [](RoundWriter& to, const Request& request) {
           send_by_gatherers(to, request.all, {request.all[0]});
         }},
        {"trivial", [](RoundWriter&, const Request&) {}},
        {"muji", [](RoundWriter& to, const Request& request) { send_by_tree(to, request.all); }},
        {"hierarchical_copy",
         [](RoundWriter& to, const Request& request) {
           send_by_halves(to, request.all, request.which.turn);
         }},
        {"nccl/rechd", in_levels(together, halving, false)},
        {"nccl/xring", in_levels(together, ring, false)},
        {"nccl/pscpu", in_levels(together, gather_across, false)},
        {"pscpu/rechd", in_levels(through_first, halving, true)},
        {"pscpu/xring", in_levels(through_first, ring, true)},
        {"pscpu/pscpu", in_levels(through_first, gather_across, true)}};
  }();
  return laws;
}

}  // namespace

std::vector<SumRound> rounds_of(const AllReduceCase& which, const Cluster& cluster) {
  if (cluster.all_devices() == 1) return {};
  Request request{which, Members(cluster.all_devices()), {}, {}};
  std::iota(request.all.begin(), request.all.end(), 0);
  for (const int device : request.all) {
    const std::size_t process = cluster.process_of(device);
    if (request.processes.size() <= process) {
      request.processes.emplace_back();
      request.firsts.push_back(device);
    }
    request.processes[process].push_back(device);
  }
  request.shards = shards_of(which.range, cluster.all_processes());
  RoundWriter writer(cluster);
  for (const LawOf& one : all_laws())
    if (one.algorithm == which.range.algorithm) {
      one.law(writer, request);
      return writer.rounds();
    }
  fail("internal: the simulator has no law for the all-reduce algorithm '", which.range.algorithm,
       "'");
}

double adding_seconds(const Cluster& cluster, double bytes) {
  return cluster.memory_seconds(3 * bytes);
}

double seconds_of(const std::vector<SumRound>& rounds, const Cluster& cluster, double bytes,
                  double wire) {
  double seconds = 0;
  for (const SumRound& round : rounds) {
    const double travelling = round.narrow ? bytes * wire : bytes;
    double slowest = 0;
    for (std::size_t kind = 0; kind < kLinkKinds; ++kind)
      if (round.used[kind]) {
        const Link& link = cluster.links[kind].speed;
        slowest = std::max(slowest, link.latency + round.load[kind] * travelling / link.bandwidth);
      }
    seconds += round.times * (slowest + adding_seconds(cluster, round.added * bytes));
  }
  return seconds;
}

double messages_of(const std::vector<SumRound>& rounds) {
  double messages = 0;
  for (const SumRound& round : rounds) messages += round.times * round.messages;
  return messages;
}

double bytes_sent(const std::vector<SumRound>& rounds, double bytes, double wire) {
  double sent = 0;
  for (const SumRound& round : rounds)
    sent += round.times * round.sent * (round.narrow ? bytes * wire : bytes);
  return sent;
}

}  // namespace lockstep
