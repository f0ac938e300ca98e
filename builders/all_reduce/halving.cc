// Reduce-scatter and all-gather in stages. In a stage of factor f the replicas that differ in one
// digit form a group; each cuts the piece it holds into f parts and sums one part of all members.
// After the last stage every replica holds one piece of the sum, and the stages run backwards to
// hand the pieces round. Factors of 2 only: recursive halving and doubling.
#include <bit>

#include "builders/all_reduce/exchange.h"

namespace lockstep {
namespace {

struct Held {
  Value value;  // none when empty
  int64_t length = 0;
};

class Stages {
 public:
  explicit Stages(const Reduce& reduce) : reduce_(reduce) {
    for (Value value : reduce.values) held_.push_back({value, reduce.length});
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
        terms.push_back(bring(parts[at(member)][at(digit)].value, member, k));
      }
      held_[at(k)] = {reduce_.exchange.sum(terms, replica(k)), parts[at(k)][at(digit)].length};
    }
    run(factors, stage + 1, span * factor);
    const auto summed = held_;
    for (int k = 0; k < count(); ++k) {
      const int digit = k / span % factor, first = k - digit * span;
      std::vector<Value> whole;
      for (int m = 0; m < factor; ++m)
        whole.push_back(bring(summed[at(first + m * span)].value, first + m * span, k));
      held_[at(k)] = {
          before[at(k)].length == 0 ? none : reduce_.exchange.join_pieces(whole, replica(k)),
          before[at(k)].length};
    }
  }

  std::vector<Value> sums() const {
    std::vector<Value> values;
    for (const Held& held : held_) values.push_back(held.value);
    return values;
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  int count() const { return static_cast<int>(held_.size()); }
  int replica(int k) const { return reduce_.replicas[at(k)]; }
  Value bring(Value value, int from, int to) {
    return reduce_.exchange.bring(value, replica(from), replica(to));
  }

  std::vector<Held> cut(const Held& whole, int factor, std::size_t k) {
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < factor; ++i)
      lengths.push_back(whole.length * (i + 1) / factor - whole.length * i / factor);
    std::vector<Value> values(lengths.size());
    if (whole.length > 0)
      values = reduce_.exchange.split(whole.value, lengths, reduce_.replicas[k]);
    std::vector<Held> parts;
    for (std::size_t i = 0; i < lengths.size(); ++i) parts.push_back({values[i], lengths[i]});
    return parts;
  }

  const Reduce& reduce_;
  std::vector<Held> held_;
};

}  // namespace

// A number of replicas that is no power of 2: those beyond it first add theirs to one within, and
// get the sum from there.
std::vector<Value> sum_by_halving(const Reduce& reduce) {
  const auto n = static_cast<int>(reduce.values.size());
  const int within = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  Exchange& exchange = reduce.exchange;
  Reduce inner{exchange, {}, {}, reduce.length};
  for (int k = 0; k < within; ++k) {
    const auto here = static_cast<std::size_t>(k), beyond = static_cast<std::size_t>(k + within);
    Value value = reduce.values[here];
    if (k + within < n)
      value = exchange.sum({value, exchange.bring(reduce.values[beyond], reduce.replicas[beyond],
                                                  reduce.replicas[here])},
                           reduce.replicas[here]);
    inner.values.push_back(value);
    inner.replicas.push_back(reduce.replicas[here]);
  }
  Stages stages(inner);
  stages.run(std::vector<int>(
      static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(within)) - 1), 2));
  std::vector<Value> sums = stages.sums();
  for (int k = within; k < n; ++k) {
    const auto from = static_cast<std::size_t>(k - within);
    sums.push_back(exchange.bring(sums[from], reduce.replicas[from],
                                  reduce.replicas[static_cast<std::size_t>(k)]));
  }
  return sums;
}

// As many factors of 2 as there are, then what remains as one group: 8 = 2 2 2, 6 = 2 3, 7 = 7.
std::vector<Value> sum_by_factors(const Reduce& reduce) {
  std::vector<int> factors;
  auto rest = static_cast<int>(reduce.values.size());
  for (; rest % 2 == 0; rest /= 2) factors.push_back(2);
  if (rest > 1) factors.push_back(rest);
  Stages stages(reduce);
  stages.run(factors);
  return stages.sums();
}

}  // namespace lockstep
