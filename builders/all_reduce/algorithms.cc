// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "builders/all_reduce/algorithm.h"
#include "graph/nearest.h"
#include "lockstep/error.h"

namespace lockstep {

// Defined in one_node.cc, rechd_bcube.cc, xring.cc, gather.cc, muji.cc and trivial.cc.
AllReduceAlgorithm collective(), nccl(), rechd(), bcube(), xring(), pscpu(), psgpu(), simple(),
    hierarchical_copy(), muji(), trivial();
std::vector<AllReduceAlgorithm> algorithms_in_levels();

// Among equal predicted times, `auto` prefers the first algorithm of this list.
const std::vector<AllReduceAlgorithm>& all_reduce_algorithms() {
  static const std::vector<AllReduceAlgorithm> all = [] {
    std::vector<AllReduceAlgorithm> list{
        collective(),
        nccl(),
        rechd(),
        bcube(),
        xring(),
        pscpu(),
        psgpu(),
        simple(),
        trivial(),
        muji(),
        hierarchical_copy(),
    };
    for (AllReduceAlgorithm& algorithm : algorithms_in_levels())
      list.push_back(std::move(algorithm));
    return list;
  }();
  return all;
}

const AllReduceAlgorithm& algorithm_named(const std::string& name) {
  std::vector<std::string> names{"auto"};
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms()) {
    if (algorithm.name == name) return algorithm;
    names.push_back(algorithm.name);
  }
  const std::string near = nearest(name, names);
  fail("there is no algorithm '", name, "'",
       near.empty() ? "; known: auto, " : "; did you mean '" + near + "'? Known: auto, ",
       algorithm_names());
}

int64_t shards_of(const AllReduceRange& range, int processes) {
  if (range.shards > 0) return range.shards;
  const auto& usual = algorithm_named(range.algorithm).usual_shards;
  return usual ? usual(processes) : 1;
}

std::string algorithm_names() {
  std::string names;
  for (const AllReduceAlgorithm& algorithm : all_reduce_algorithms())
    names += (names.empty() ? "" : ", ") + algorithm.name + (algorithm.most_shards ? "#S" : "");
  return names;
}

}  // namespace lockstep
