// Caffe2's muji: pairs add, then pairs of pairs, and the sum comes back down. (Its variant for four
// devices that reach each other in pairs only differs in that a copy comes before an add; here
// every operand from elsewhere is copied.) Any other number of replicas: all on the first, in turn.
#include "builders/all_reduce/exchange.h"

namespace lockstep {
namespace {

class Tree {
 public:
  explicit Tree(const Reduce& reduce) : reduce_(reduce), held_(reduce.values) {}

  // replica a takes a + b
  void add(int a, int b) {
    held_[at(a)] = reduce_.exchange.sum({held_[at(a)], moved(b, a)}, replica(a));
  }
  void copy(int from, int to) { held_[at(to)] = moved(from, to); }
  std::vector<Value> held() const { return held_; }

 private:
  static std::size_t at(int k) { return static_cast<std::size_t>(k); }
  int replica(int k) const { return reduce_.replicas[at(k)]; }
  Value moved(int from, int to) {
    return reduce_.exchange.bring(held_[at(from)], replica(from), replica(to));
  }

  const Reduce& reduce_;
  std::vector<Value> held_;
};

}  // namespace

std::vector<Value> sum_by_tree(const Reduce& reduce) {
  const auto n = static_cast<int>(reduce.values.size());
  Tree tree(reduce);
  if (n == 2 || n == 4 || n == 8) {
    for (int i = 0; i < n; i += 2) tree.add(i, i + 1);
    for (int i = 0; i + 2 < n; i += 4) tree.add(i, i + 2);
    if (n == 8) tree.add(0, 4);
    if (n == 8) tree.copy(0, 4);
    for (int i = 0; i + 2 < n; i += 4) tree.copy(i, i + 2);
    for (int i = 1; i < n; i += 2) tree.copy(i - 1, i);
  } else {
    for (int i = 1; i < n; ++i) tree.add(0, i);
    for (int i = 1; i < n; ++i) tree.copy(0, i);
  }
  return tree.held();
}

}  // namespace lockstep
