// Algorithms in which some replicas gather whole tensors or pieces, sum, and hand out the result.
#include "builders/all_reduce/exchange.h"
#include "graph/error.h"

namespace lockstep {

std::vector<std::vector<int>> gather_groups(int devices, int64_t size) {
  check(size >= 1 && size <= devices, size, " gather replicas a tensor out of ", devices);
  const int64_t count = (devices + size - 1) / size;
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count * size; ++i)
    groups[static_cast<std::size_t>(i % count)].push_back(static_cast<int>(i % devices));
  return groups;
}

// Gatherer j sums piece j of every replica. All pieces but the last are floor(length / pieces).
std::vector<Value> sum_by_shuffle(const Reduce& reduce, const std::vector<int>& gatherers) {
  const auto pieces = static_cast<int64_t>(gatherers.size());
  std::vector<int64_t> lengths(gatherers.size(), reduce.length / pieces);
  lengths.back() = reduce.length - (pieces - 1) * (reduce.length / pieces);
  Exchange& exchange = reduce.exchange;
  std::vector<std::vector<Value>> parts;
  for (std::size_t k = 0; k < reduce.values.size(); ++k)
    parts.push_back(exchange.split(reduce.values[k], lengths, reduce.replicas[k]));
  std::vector<Value> sums;
  for (std::size_t j = 0; j < gatherers.size(); ++j) {
    std::vector<Value> terms;
    for (std::size_t k = 0; k < parts.size(); ++k)
      terms.push_back(exchange.bring(parts[k][j], reduce.replicas[k], gatherers[j]));
    sums.push_back(exchange.sum(terms, gatherers[j]));
  }
  std::vector<Value> results;
  for (int replica : reduce.replicas) {
    std::vector<Value> here;
    for (std::size_t j = 0; j < gatherers.size(); ++j)
      here.push_back(exchange.bring(sums[j], gatherers[j], replica));
    results.push_back(exchange.join_pieces(here, replica));
  }
  return results;
}

std::vector<Value> sum_on_first(const Reduce& reduce) {
  return sum_by_shuffle(reduce, {reduce.replicas[0]});
}

// The first half is summed on one main replica, the second on another, both on the first; which
// replicas are mains goes round with the tensors.
std::vector<Value> sum_by_halves(const Reduce& reduce, int64_t tensor) {
  const auto n = static_cast<int64_t>(reduce.values.size());
  const int64_t half = n / 2;
  Exchange& exchange = reduce.exchange;
  auto replica = [&](int64_t k) { return reduce.replicas[static_cast<std::size_t>(k)]; };
  const int mains[2] = {replica(tensor % n), replica((tensor + half) % n)};
  Value sums[2];
  for (int h = 0; h < 2; ++h) {
    std::vector<Value> terms;
    for (int64_t k = h == 0 ? 0 : half; k < (h == 0 ? half : n); ++k)
      terms.push_back(
          exchange.bring(reduce.values[static_cast<std::size_t>(k)], replica(k), mains[h]));
    sums[h] = exchange.sum(terms, mains[h]);
  }
  Value total = exchange.sum({sums[0], exchange.bring(sums[1], mains[1], mains[0])}, mains[0]);
  const Value of_half[2] = {total, exchange.bring(total, mains[0], mains[1])};
  std::vector<Value> results;
  for (int64_t k = 0; k < n; ++k) {
    const int h = k < half ? 0 : 1;
    // A main of the other half already has the sum.
    if (replica(k) == mains[0])
      results.push_back(of_half[0]);
    else if (replica(k) == mains[1])
      results.push_back(of_half[1]);
    else
      results.push_back(exchange.bring(of_half[h], mains[h], replica(k)));
  }
  return results;
}

}  // namespace lockstep
