#include "builders/step/option_text.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <vector>

#include "graph/error.h"

namespace lockstep {
namespace {

// 1048576 is 1M.
std::string in_units(int64_t number) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  for (; number != 0 && number % 1024 == 0 && unit + 1 < std::size(kUnits); ++unit) number /= 1024;
  return join(number, kUnits[unit]);
}

struct Unit {
  const char* name;
  double size;
};

std::string fixed_text(double number) {
  char text[512];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::fixed).ptr};
}

double rounded(double number, int digits) {
  char text[64];
  const auto end =
      std::to_chars(text, text + sizeof text, number, std::chars_format::scientific, digits - 1);
  std::from_chars(text, end.ptr, number);
  return number;
}

// The shortest number with a unit that `reads` takes for the same amount; the greatest of the units
// that the amount has one of, or the last.
template <class Reads>
std::string shortest(double amount, const std::vector<Unit>& units, const Reads& reads) {
  constexpr int kMostDigits = 17;
  for (const Unit& unit : units) {
    if (amount < unit.size && &unit != &units.back()) continue;
    const double number = amount / unit.size;
    std::vector<double> candidates;
    for (int digits = 1; digits <= kMostDigits; ++digits)
      candidates.push_back(rounded(number, digits));
    // A quotient that was rounded may be a neighbour of what was written.
    candidates.push_back(std::nextafter(number, 0));
    candidates.push_back(std::nextafter(number, 2 * number));
    for (double candidate : candidates)
      if (const std::string text = fixed_text(candidate) + unit.name; reads(text) == amount)
        return text;
  }
  return fixed_text(amount / units.back().size) + units.back().name;
}

std::string text_of(const Link& link) {
  const std::string latency =
      shortest(link.latency, {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}},
               [](const std::string& text) { return parse_topology(text + ":1G").within.latency; });
  const std::string bandwidth = shortest(
      link.bandwidth, {{"G", 1e9}, {"M", 1e6}, {"K", 1e3}},
      [](const std::string& text) { return parse_topology("1us:" + text).within.bandwidth; });
  return latency + ":" + bandwidth;
}

bool same(const Link& a, const Link& b) {
  return a.latency == b.latency && a.bandwidth == b.bandwidth;
}

}  // namespace

std::string text_of(const Packing& packing) {
  switch (packing.rule) {
    case PackingRule::none:
      return "none";
    case PackingRule::tf_cnn:
      return join("tf_cnn:", in_units(packing.bytes), ":", in_units(packing.group));
    case PackingRule::ray:
      return "ray:" + in_units(packing.bytes);
    case PackingRule::ready:
      return join("ready:", in_units(packing.first), ":", in_units(packing.bytes));
  }
  fail("internal: a rule of packing without a name");
}

std::string text_of(const Topology& topology) {
  const Topology usual;
  if (same(topology.within, usual.within) && same(topology.across, usual.across)) return "";
  return text_of(topology.within) +
         (same(topology.within, topology.across) ? "" : "/" + text_of(topology.across));
}

}  // namespace lockstep
