#include "builders/all_reduce/cost.h"

#include <bit>
#include <cmath>
#include <vector>

#include "graph/error.h"

namespace lockstep {
namespace {

// A number followed by one of `units`.
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
    const double quantity = amount * factor;
    if (end > 0 && quantity > 0 && std::isfinite(quantity) && text.substr(end) == unit)
      return quantity;
    known += (known.empty() ? "" : ", ") + unit;
  }
  fail(what, " '", text, "' should be a positive, finite number with one of: ", known);
}

Link parse_link(const std::string& text) {
  const auto colon = text.find(':');
  check(colon != text.npos, "'", text, "' should be latency:bandwidth, like 30us:1.2G");
  return {
      parse_quantity(text.substr(0, colon), {{"us", 1e-6}, {"ms", 1e-3}, {"ns", 1e-9}}, "latency"),
      parse_quantity(text.substr(colon + 1), {{"G", 1e9}, {"M", 1e6}, {"K", 1e3}}, "bandwidth")};
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

double Costs::scatter_and_gather(const Link& link, double members, double count) const {
  const double share = (members - 1) / members * request_.bytes;
  return messages(link, count, 2 * share) + adds(share);
}

double Costs::ring(const Link& link, double members) const {
  return scatter_and_gather(link, members, 2 * (members - 1));
}

double Costs::halving(const Link& link, double members) const {
  const auto power = std::bit_floor(static_cast<unsigned>(members));
  const double inner = scatter_and_gather(link, power, 2 * std::log2(power));
  if (members == power) return inner;
  return inner + messages(link, 2, 2 * request_.bytes) + adds(request_.bytes);
}

double Costs::shared_memory() const { return scatter_and_gather(within(), per_process(), 2); }

double Costs::gather(const Link& link, double members, double gatherers) const {
  const double others = (members - 1) * request_.bytes / gatherers;
  return messages(link, 2 * (members - 1), 2 * others) + adds(others);
}

double Costs::to_first_and_back() const {
  const double others = (per_process() - 1) * request_.bytes;
  return 2 * messages(within(), per_process() - 1, others) + adds(others);
}

}  // namespace lockstep
