// How "sum these gradients over the replicas" becomes graph nodes, by the algorithm that a spec
// names for a tensor of that size.
#pragma once

#include <string>
#include <vector>

#include "builders/all_reduce/spec.h"
#include "graph/graph.h"

namespace lockstep {

struct AllReduceOptions {
  AllReduceSpec spec = {{"collective", "", 1, -1, false}};
  int workers = 1;  // hosts; each holds the same number of replicas, in order
  std::vector<int> ring_order =
      {};  // xring: a worker's replicas in order of the ring; default 0, 1, ..
};

class AllReducer {
 public:
  // Throws when the spec does not fit so many replicas.
  AllReducer(const AllReduceOptions& options, int replicas);

  // One gradient per replica in, their sum on every replica out, named <gradient>_sum: the same
  // bits on all of them. Shapes must be known.
  std::vector<Value> sum(Graph& graph, const std::vector<Value>& gradients,
                         const std::string& param);

 private:
  std::vector<Value> reduce(Graph& graph, const AllReduceRange& range,
                            const std::vector<Value>& flat, int64_t length, const std::string& name,
                            int64_t tensor) const;

  AllReduceOptions options_;
  int replicas_;
  std::vector<int64_t> tensors_;  // so far, by range: gather replicas go round with them
};

}  // namespace lockstep
