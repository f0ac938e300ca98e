// SPDX-License-Identifier: Apache-2.0
#include "builders/all_reduce/cost.h"

#include <bit>
#include <cmath>

namespace lockstep {

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
  return 2 * from_first() + adds((per_process() - 1) * request_.bytes);
}

double Costs::from_first() const {
  return messages(within(), per_process() - 1, (per_process() - 1) * request_.bytes);
}

}  // namespace lockstep
