// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter and all-gather in stages. In a stage of factor f, replicas that differ in one
// digit form a group. Each member cuts its piece into f parts and sums one part over all members.
// After the last stage every replica holds one piece of the sum, and the stages run backwards to
// distribute the pieces. If all factors are 2, this is recursive halving and doubling.
#include <bit>

#include "builders/all_reduce/algorithm.h"

namespace lockstep {
namespace {

struct Held {
  Value value;  // none if empty
  int64_t length = 0;
};

class Stages {
 public:
  explicit Stages(const Terms& whole) : whole_(whole) {
    for (Value value : whole.values) held_.push_back({value, whole.length});
  }

  void run(const std::vector<int>& factors, std::size_t stage = 0, int span = 1) {
    if (stage == factors.size()) return;
    const int factor = factors[stage];
    const auto before = held_;
    std::vector<std::vector<Held>> parts;
    for (std::size_t k = 0; k < held_.size(); ++k) parts.push_back(cut(before[k], factor, k));
    for (int k = 0; k < count(); ++k) {
      const int digit = k / span % factor, first = k - digit * span;
      std::vector<Value> terms;
      for (int m = 0; m < factor; ++m) {
        const int member = first + m * span;
        terms.push_back(bring(parts[member][digit].value, member, k));
      }
      held_[k] = {whole_.pieces.sum(terms, replica(k)), parts[k][digit].length};
    }
    run(factors, stage + 1, span * factor);
    const auto summed = held_;
    for (int k = 0; k < count(); ++k) {
      const int digit = k / span % factor, first = k - digit * span;
      std::vector<Value> whole;
      for (int m = 0; m < factor; ++m)
        whole.push_back(bring(summed[first + m * span].value, first + m * span, k));
      held_[k] = {before[k].length == 0 ? none : whole_.pieces.join_pieces(whole, replica(k)),
                  before[k].length};
    }
  }

  std::vector<Value> sums() const {
    std::vector<Value> values;
    for (const Held& held : held_) values.push_back(held.value);
    return values;
  }

 private:
  int count() const { return static_cast<int>(held_.size()); }
  int replica(int k) const { return whole_.replicas[k]; }
  Value bring(Value value, int from, int to) {
    return whole_.pieces.bring(value, replica(from), replica(to));
  }

  std::vector<Held> cut(const Held& whole, int factor, std::size_t k) {
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < factor; ++i)
      lengths.push_back(whole.length * (i + 1) / factor - whole.length * i / factor);
    std::vector<Value> values(lengths.size());
    if (whole.length > 0) values = whole_.pieces.split(whole.value, lengths, whole_.replicas[k]);
    std::vector<Held> parts;
    for (std::size_t i = 0; i < lengths.size(); ++i) parts.push_back({values[i], lengths[i]});
    return parts;
  }

  const Terms& whole_;
  std::vector<Held> held_;
};

}  // namespace

// If the number of replicas is not a power of 2, each replica beyond the largest power of 2 first
// adds its tensor to the tensor of a replica within, and copies the sum from this replica.
std::vector<Value> sum_by_halving(const Terms& whole) {
  const auto n = static_cast<int>(whole.values.size());
  const int within = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  Pieces& pieces = whole.pieces;
  Terms inner{pieces, {}, {}, whole.length};
  for (int k = 0; k < within; ++k) {
    const int beyond = k + within;
    Value value = whole.values[k];
    if (beyond < n)
      value = pieces.sum(
          {value, pieces.bring(whole.values[beyond], whole.replicas[beyond], whole.replicas[k])},
          whole.replicas[k]);
    inner.values.push_back(value);
    inner.replicas.push_back(whole.replicas[k]);
  }
  Stages stages(inner);
  stages.run(std::vector<int>(std::bit_width(static_cast<unsigned>(within)) - 1, 2));
  std::vector<Value> sums = stages.sums();
  for (int k = within; k < n; ++k) {
    const int from = k - within;
    sums.push_back(pieces.bring(sums[from], whole.replicas[from], whole.replicas[k]));
  }
  return sums;
}

namespace {

// All factors of 2, then the rest as one factor: 8 = 2 2 2, 6 = 2 3, 7 = 7.
std::vector<int> factors_of(int replicas) {
  std::vector<int> factors;
  for (; replicas % 2 == 0; replicas /= 2) factors.push_back(2);
  if (replicas > 1) factors.push_back(replicas);
  return factors;
}

std::vector<Value> sum_by_factors(const Terms& whole) {
  Stages stages(whole);
  stages.run(factors_of(static_cast<int>(whole.values.size())));
  return stages.sums();
}

double seconds_of_factors(const Costs& costs) {
  double messages = 0;
  for (int factor : factors_of(static_cast<int>(costs.replicas()))) messages += 2 * (factor - 1);
  return costs.scatter_and_gather(costs.any(), costs.replicas(), messages);
}

}  // namespace

AllReduceAlgorithm rechd() {
  return {
      .name = "rechd",
      .what = "recursive halving and doubling",
      .build = [](const Terms& whole, const AlgorithmUse&) { return sum_by_halving(whole); },
      .seconds = [](const Costs& costs) { return costs.halving(costs.any(), costs.replicas()); },
      .auto_shards = [](int, int) -> int64_t { return 1; }};
}

AllReduceAlgorithm bcube() {
  return {.name = "bcube",
          .what = "as rechd, in groups by the prime factors of the number of replicas",
          .build = [](const Terms& whole, const AlgorithmUse&) { return sum_by_factors(whole); },
          .seconds = seconds_of_factors,
          .auto_shards = [](int, int) -> int64_t { return 1; }};
}

}  // namespace lockstep
