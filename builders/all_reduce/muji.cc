// SPDX-License-Identifier: Apache-2.0
// Caffe2's muji: pairs add, then pairs of pairs, then the sum is copied back down the tree.
// (Caffe2's variant for four devices that reach each other only in pairs differs only by a copy
// before an add. Here every remote operand is copied.) For a number of replicas other than 2, 4 and
// 8, the first replica adds the others one after the other.
#include "builders/all_reduce/algorithm.h"

namespace lockstep {
namespace {

class Tree {
 public:
  explicit Tree(const Terms& whole) : whole_(whole), held_(whole.values) {}

  // Replica a computes a + b.
  void add(int a, int b) { held_[a] = whole_.pieces.sum({held_[a], moved(b, a)}, replica(a)); }
  void copy(int from, int to) { held_[to] = moved(from, to); }
  std::vector<Value> held() const { return held_; }

 private:
  int replica(int k) const { return whole_.replicas[k]; }
  Value moved(int from, int to) {
    return whole_.pieces.bring(held_[from], replica(from), replica(to));
  }

  const Terms& whole_;
  std::vector<Value> held_;
};

std::vector<Value> sum_by_tree(const Terms& whole) {
  const auto n = static_cast<int>(whole.values.size());
  Tree tree(whole);
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

}  // namespace

AllReduceAlgorithm muji() {
  return {.name = "muji",
          .what = "Caffe2's trees for 2, 4 and 8 replicas; for others replica 0 adds one by one",
          .build = [](const Terms& whole, const AlgorithmUse&) { return sum_by_tree(whole); },
          .seconds = [](const Costs& costs) { return costs.gather(1); }};
}

}  // namespace lockstep
