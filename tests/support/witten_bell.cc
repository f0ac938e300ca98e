// SPDX-License-Identifier: Apache-2.0
#include "tests/support/witten_bell.h"

#include <algorithm>
#include <cmath>

namespace lockstep::testing {

WittenBell::WittenBell(int order, int64_t characters)
    : order_(order), characters_(static_cast<double>(characters)) {}

void WittenBell::count(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at)
    for (std::size_t length = 0; length <= std::min<std::size_t>(order_, at); ++length) {
      Context& context = contexts_[std::string(text.substr(at - length, length))];
      ++context.seen;
      context.kinds += ++pairs_[std::string(text.substr(at - length, length + 1))] == 1;
    }
}

// p(next | context) = (count + kinds p(next | shorter context)) / (seen + kinds)
double WittenBell::probability(std::string_view before, char next) const {
  double p = 1 / characters_;
  for (std::size_t length = 0; length <= std::min<std::size_t>(order_, before.size()); ++length) {
    std::string key(before.substr(before.size() - length));
    const auto context = contexts_.find(key);
    if (context == contexts_.end()) return p;
    const auto pair = pairs_.find(key + next);
    const double count = pair == pairs_.end() ? 0 : static_cast<double>(pair->second);
    const auto seen = static_cast<double>(context->second.seen),
               kinds = static_cast<double>(context->second.kinds);
    p = (count + kinds * p) / (seen + kinds);
  }
  return p;
}

double WittenBell::bits(std::string_view text, std::size_t first, std::size_t end) const {
  double bits = 0;
  for (std::size_t at = first; at < end; ++at)
    bits -= std::log2(probability(text.substr(0, at), text[at]));
  return bits;
}

}  // namespace lockstep::testing
