// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/measured_links.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <sstream>

#include "lockstep/error.h"
#include "lockstep/operators.h"
#include "operators/collective/collective.h"
#include "runtime/dist/agree.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"
#include "runtime/nanoseconds.h"
#include "runtime/plan/compile.h"

namespace lockstep {
namespace {

constexpr uint64_t kProbe = uint64_t{5} << 60U;  // above the message numbers of graphs and agree.h
constexpr int kShortChain = 64, kLongChain = 192;  // copies

double seconds_between(int64_t begins, int64_t ends) {
  return static_cast<double>(ends - begins) * 1e-9;
}

// The fastest of some runs of a chain of copies between two replicas.
double chain_seconds(int copies, int64_t floats, const std::vector<Device>& two,
                     const std::vector<KernelTable>& kernels) {
  constexpr int kRuns = 7;
  Graph graph(all_ops(), "copies");
  Value value = graph.input("x", {DType::float32, {floats}});
  {
    ReplicaScope first(graph, 0);
    value = graph.add_value({.type = "Abs", .inputs = {value}}, "start");
  }
  for (int i = 0; i < copies; ++i) {
    ReplicaScope replica(graph, (i + 1) % 2);
    value = copy(graph, value, Site(join("copy_", i)));
  }
  {
    ReplicaScope replica(graph, copies % 2);
    value = graph.add_value({.type = "Abs", .inputs = {value}}, "end");
  }
  States none_kept({}, {});
  Workers workers(2, 1);
  CompileOptions options;
  options.alias = false;  // every copy has memory of its own
  const auto executor = make_executor(compile({.graph = graph,
                                               .feeds = {"x"},
                                               .feed_dims = {{floats}},
                                               .fetches = {graph.name(value)},
                                               .devices = two,
                                               .kernels = kernels,
                                               .options = options}),
                                      none_kept, workers, table_for(kernels, two[0]).accelerator());
  const Literal x(DType::float32, {floats});
  const std::vector<Tensor> feeds{view_of(x)};
  double fastest = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    const int64_t begins = nanoseconds_now();
    executor->run(feeds, {.context = {1, 0}});
    fastest = std::min(fastest, seconds_between(begins, nanoseconds_now()));
  }
  return fastest;
}

// Both ranks of a pair.
class PairOfRanks {
 public:
  PairOfRanks(Comm& comm, int peer)
      : out_(comm.sending(peer, kProbe, "a measured message")),
        in_(comm.receiving(peer, kProbe, "a measured message")) {}

  // Sends or receives first. Returns the seconds until both messages are over.
  double exchange(bool leads, std::vector<char>& out, std::vector<char>& in) {
    const int64_t begins = nanoseconds_now();
    in_.start(in.data(), in.size());
    if (!leads) in_.wait();
    out_.start(out.data(), out.size());
    out_.wait();
    if (leads) in_.wait();
    return seconds_between(begins, nanoseconds_now());
  }

 private:
  Transfer& out_;
  Transfer& in_;
};

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string text_of_numbers(const std::vector<double>& numbers) {
  std::ostringstream text;
  text.precision(17);
  for (const double number : numbers) text << number << " ";
  return text.str();
}
std::vector<double> numbers_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<double> numbers;
  for (double number = 0; stream >> number;) numbers.push_back(number);
  return numbers;
}

// Of positive, finite numbers, as a cluster file needs them.
Link usable(Link link) {
  link.latency = std::max(link.latency, 1e-9);
  if (!(link.bandwidth > 0) || link.bandwidth > 1e15) link.bandwidth = 1e15;
  return link;
}

// Hosts in the order of ranks, and the ranks of each.
std::vector<std::vector<int>> ranks_by_host(const std::vector<std::string>& hosts) {
  std::vector<std::vector<int>> ranks;
  std::map<std::string, std::size_t> known;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto [host, is_new] = known.emplace(hosts[rank], ranks.size());
    if (is_new) ranks.emplace_back();
    ranks[host->second].push_back(static_cast<int>(rank));
  }
  return ranks;
}

// Two ranks of one host, and the first ranks of two hosts.
struct MeasuredRanks {
  int a = -1, b = -1, far = -1;
};
MeasuredRanks measured_ranks(const std::vector<std::vector<int>>& hosts) {
  MeasuredRanks pairs;
  if (hosts[0].size() > 1) {
    pairs.a = hosts[0][0];
    pairs.b = hosts[0][1];
  }
  if (hosts.size() > 1) pairs.far = hosts[1][0];
  return pairs;
}

}  // namespace

Link measure_copies(const std::vector<Device>& two, const std::vector<KernelTable>& kernels,
                    const LinkMeasurement& how) {
  check(two.size() == 2, "internal: copies are measured between two replicas");
  constexpr double kMore = kLongChain - kShortChain;
  Link link;
  link.latency =
      (chain_seconds(kLongChain, 1, two, kernels) - chain_seconds(kShortChain, 1, two, kernels)) /
      kMore;
  constexpr int kLargeShort = 2, kLargeLong = 6;
  const auto floats = static_cast<int64_t>(how.large / sizeof(float));
  const double seconds = (chain_seconds(kLargeLong, floats, two, kernels) -
                          chain_seconds(kLargeShort, floats, two, kernels)) /
                         (kLargeLong - kLargeShort);
  link.bandwidth = static_cast<double>(how.large) / std::max(seconds - link.latency, 1e-12);
  return usable(link);
}

Link measure_messages(Comm& comm, int a, int b, const LinkMeasurement& how) {
  if (comm.rank() != a && comm.rank() != b) return {};
  const bool leads = comm.rank() == a;
  PairOfRanks pair(comm, leads ? b : a);
  std::vector<char> small_out(8, 'x'), small_in(8), large_out(how.large, 'x'), large_in(how.large);
  double there_and_back = std::numeric_limits<double>::infinity(), both_large = there_and_back;
  for (int i = 0; i < how.small_messages; ++i)
    there_and_back = std::min(there_and_back, pair.exchange(leads, small_out, small_in));
  for (int i = 0; i < how.large_messages; ++i)
    both_large = std::min(both_large, pair.exchange(leads, large_out, large_in));
  Link link;
  link.latency = there_and_back / 2;
  link.bandwidth = static_cast<double>(how.large) / std::max(both_large / 2 - link.latency, 1e-12);
  // The answer's times are the leader's: the other rank also waits for its turn.
  std::vector<double> numbers{link.latency, link.bandwidth};
  std::vector<char> bytes(2 * sizeof(double)), theirs(bytes.size());
  std::copy_n(reinterpret_cast<const char*>(numbers.data()), bytes.size(), bytes.begin());
  pair.exchange(leads, bytes, theirs);
  if (!leads) std::copy_n(theirs.begin(), theirs.size(), reinterpret_cast<char*>(numbers.data()));
  return usable({numbers[0], numbers[1]});
}

Cluster measured_cluster(Comm* comm, const std::vector<Device>& devices, const DeviceRates& rates,
                         const std::vector<KernelTable>& kernels, const LinkMeasurement& how) {
  Cluster cluster;
  const int each = static_cast<int>(devices.size());
  cluster.devices = each;
  cluster.messages_take_cores = devices[0].info().in_host_memory;
  cluster.flops = rates.flops;
  cluster.bandwidth = rates.bandwidth;
  if (each > 1)
    cluster.link(LinkKind::within).speed = measure_copies({devices[0], devices[1]}, kernels, how);
  if (!comm) return cluster;

  std::vector<std::string> hosts = gather_texts(*comm, host_name(), "the name of the host");
  const std::string all_rates = text_of_numbers({rates.flops, rates.bandwidth});
  const std::vector<std::string> by_rank = gather_texts(*comm, all_rates, "the rates of a device");
  std::string pairs_text;
  std::vector<std::vector<int>> ranks;
  if (comm->rank() == 0) {
    ranks = ranks_by_host(hosts);
    const MeasuredRanks pairs = measured_ranks(ranks);
    pairs_text = join(pairs.a, " ", pairs.b, " ", pairs.far);
    for (const std::string& text : by_rank) {  // the slowest device decides
      const std::vector<double> numbers = numbers_in(text);
      if (numbers.size() != 2) continue;
      cluster.flops = std::min(cluster.flops, numbers[0]);
      cluster.bandwidth = std::min(cluster.bandwidth, numbers[1]);
    }
  }
  const std::vector<double> pairs = numbers_in(share_text(*comm, pairs_text, "the measured ranks"));
  check(pairs.size() == 3, "rank 0 sent no ranks to measure");
  const int a = static_cast<int>(pairs[0]), b = static_cast<int>(pairs[1]),
            far = static_cast<int>(pairs[2]);
  if (a >= 0) cluster.link(LinkKind::processes).speed = measure_messages(*comm, a, b, how);
  if (far >= 0) cluster.link(LinkKind::hosts).speed = measure_messages(*comm, 0, far, how);
  if (comm->rank() != 0) return cluster;
  for (const std::vector<int>& host : ranks)
    check(host.size() == ranks[0].size(), "host ", hosts[host[0]], " has ", host.size(),
          " processes, but host ", hosts[0], " has ", ranks[0].size(),
          "; start as many processes on each host");
  if (a < 0) cluster.link(LinkKind::processes) = cluster.link(LinkKind::hosts);
  if (far < 0) cluster.link(LinkKind::hosts) = cluster.link(LinkKind::processes);
  cluster.hosts = static_cast<int>(ranks.size());
  cluster.processes = static_cast<int>(ranks[0].size());
  cluster.devices = each * cluster.processes;
  return cluster;
}

}  // namespace lockstep
