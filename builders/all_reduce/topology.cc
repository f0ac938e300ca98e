// SPDX-License-Identifier: Apache-2.0
#include "lockstep/all_reduce.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {
namespace {

// Parses a number followed by one of `units`.
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
  // The number originally written may be a neighbour of the rounded quotient.
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

std::string text_of(const Topology& topology) {
  const Topology usual;
  if (same(topology.within, usual.within) && same(topology.across, usual.across)) return "";
  return text_of(topology.within) +
         (same(topology.within, topology.across) ? "" : "/" + text_of(topology.across));
}

}  // namespace lockstep
