#include "builders/step/option_text.h"

#include <algorithm>
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

// The shortest number with a unit that `reads` parses to exactly the same amount (0.04ms differs
// from 40us in the last bit). For equal lengths the largest unit not above the amount wins.
template <class Reads>
std::string shortest(double amount, std::vector<Unit> units, const Reads& reads) {
  constexpr int kMostDigits = 17;
  const auto usual = std::find_if(units.begin(), units.end() - 1,
                                  [&](const Unit& unit) { return amount >= unit.size; });
  std::rotate(units.begin(), usual, usual + 1);
  std::vector<std::string> texts;
  for (int digits = 1; digits <= kMostDigits; ++digits)
    for (const Unit& unit : units)
      texts.push_back(fixed_text(rounded(amount / unit.size, digits)) + unit.name);
  // A rounded quotient may be next to the number originally written.
  for (const Unit& unit : units)
    for (double towards : {0.0, 2 * amount / unit.size})
      texts.push_back(fixed_text(std::nextafter(amount / unit.size, towards)) + unit.name);
  for (const std::string& text : texts)
    if (reads(text) == amount) return text;
  return texts[(kMostDigits - 1) * units.size()];
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
