#include "builders/all_reduce/cost.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <vector>

#include "graph/error.h"

namespace lockstep {
namespace {

// `amount` with one of `units` behind it.
double parse_quantity(const std::string& text,
                      const std::vector<std::pair<std::string, double>>& units,
                      const std::string& what) {
  std::size_t end = 0;
  double amount = -1;
  try {
    amount = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  std::string known;
  for (const auto& [unit, factor] : units) {
    if (end > 0 && amount > 0 && text.substr(end) == unit) return amount * factor;
    known += (known.empty() ? "" : ", ") + unit;
  }
  fail(what, " '", text, "' should be a positive number with one of: ", known);
}

Link parse_link(const std::string& text) {
  const auto colon = text.find(':');
  check(colon != text.npos, "'", text, "' should be latency:bandwidth, like 30us:1.2G");
  return {
      parse_quantity(text.substr(0, colon), {{"us", 1e-6}, {"ms", 1e-3}, {"ns", 1e-9}}, "latency"),
      parse_quantity(text.substr(colon + 1), {{"G", 1e9}, {"M", 1e6}, {"K", 1e3}}, "bandwidth")};
}

// The parts that the algorithms' times are made of; p replicas, n bytes, one kind of link.
class Costs {
 public:
  Costs(const Link& link, double adding, double n) : link_(link), adding_(adding), n_(n) {}

  double messages(double count, double bytes) const {
    return count * link_.latency + bytes / link_.bandwidth;
  }
  double adds(double bytes) const { return bytes / adding_; }

  double ring(double p) const { return scatter_and_gather(2 * (p - 1), p); }
  // Each replica reads its part of all others and writes it to all others, with no steps between.
  double shared_memory(double p) const { return scatter_and_gather(2, p); }
  double halving(double p) const {
    const auto within = std::bit_floor(static_cast<unsigned>(p));
    const double inner = scatter_and_gather(2 * std::log2(within), within);
    return p > within ? inner + messages(2, 2 * n_) + adds(n_) : inner;
  }
  double factors(double p) const {
    auto rest = static_cast<int>(p);
    double count = 0;
    for (; rest % 2 == 0; rest /= 2) count += 2;
    if (rest > 1) count += 2 * (rest - 1);
    return scatter_and_gather(count, p);
  }
  // S gatherers; each port sends and receives what all others have of its piece.
  double gather(double p, double shards) const {
    return messages(2 * (p - 1), 2 * (p - 1) * n_ / shards) + adds((p - 1) * n_ / shards);
  }

 private:
  // Every replica sends and receives its share of the tensor in each of the two phases.
  double scatter_and_gather(double count, double p) const {
    return messages(count, 2 * (p - 1) / p * n_) + adds((p - 1) / p * n_);
  }

  Link link_;
  double adding_, n_;
};

AllReduceRange everywhere(const std::string& algorithm, const std::string& cross = "",
                          int64_t shards = 1) {
  AllReduceRange range;
  range.algorithm = algorithm;
  range.cross = cross;
  range.shards = shards;
  return range;
}

std::string label(const AllReduceRange& range) {
  return range.name() + (range.shards > 1 ? join("#", range.shards) : "");
}

}  // namespace

Topology parse_topology(const std::string& text) {
  Topology topology;
  try {
    const auto slash = text.find('/');
    topology.within = parse_link(text.substr(0, slash));
    topology.across = slash == text.npos ? topology.within : parse_link(text.substr(slash + 1));
  } catch (const Error& error) {
    fail("topology '", text, "': ", error.what());
  }
  return topology;
}

double predicted_seconds(const AllReduceRange& range, const Topology& topology, int replicas,
                         int workers, double bytes) {
  if (replicas == 1 || range.algorithm == "trivial") return 0;
  const double p = replicas, w = workers, g = p / w;
  const Costs within(topology.within, topology.adding, bytes);
  const Costs across(topology.across, topology.adding, bytes);
  const Costs& any = workers > 1 ? across : within;
  const std::string name = range.name();
  if (!range.cross.empty()) {
    const double local = 2 * within.messages(g - 1, (g - 1) * bytes) + within.adds((g - 1) * bytes);
    if (workers == 1) return local;
    if (range.cross == "xring") return local + across.ring(w);
    if (range.cross == "rechd") return local + across.halving(w);
    return local + across.gather(w, w);
  }
  if (name == "collective" || name == "nccl") {
    const double local = g > 1 ? within.shared_memory(g) : 0;
    return workers == 1 ? local : 2 * local + across.gather(w, w);
  }
  if (name == "xring") return any.ring(p);
  if (name == "rechd") return any.halving(p);
  if (name == "bcube") return any.factors(p);
  if (name == "simple" || name == "muji") return any.gather(p, 1);
  if (name == "hierarchical_copy") return any.gather(p, 2);
  return any.gather(p, static_cast<double>(range.shards));
}

Choice choose_algorithm(const Topology& topology, int replicas, int workers, double bytes) {
  std::vector<AllReduceRange> candidates{everywhere("collective"),
                                         everywhere("rechd"),
                                         everywhere("bcube"),
                                         everywhere("xring"),
                                         everywhere("psgpu", "", replicas),
                                         everywhere("simple")};
  if (workers > 1 && replicas > workers)
    for (const char* cross : {"rechd", "xring"}) candidates.push_back(everywhere("nccl", cross));
  auto seconds = [&](const AllReduceRange& range) {
    return predicted_seconds(range, topology, replicas, workers, bytes);
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const auto& a, const auto& b) { return seconds(a) < seconds(b); });
  std::ostringstream why;
  why << std::setprecision(3);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    why << (i == 0   ? ""
            : i == 1 ? "; "
                     : ", ")
        << label(candidates[i]) << " " << seconds(candidates[i]) * 1e3 << (i == 0 ? " ms" : "");
  return {candidates[0], why.str()};
}

}  // namespace lockstep
