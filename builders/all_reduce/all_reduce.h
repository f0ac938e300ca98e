// How "sum these gradients over the replicas" becomes graph nodes. In one replica's graph a sum is
// a collective with one operand that carries the algorithm for a tensor of its size; expand.h puts
// the algorithm's own nodes in its place once the replicas are there.
#pragma once

#include <string>
#include <vector>

#include "builders/all_reduce/choice.h"
#include "builders/all_reduce/packing.h"
#include "builders/all_reduce/spec.h"
#include "graph/graph.h"

namespace lockstep {

struct AllReduceOptions {
  AllReduceSpec spec = {.ranges = {{"collective"}}};
  Packing packing = {};
  std::string buckets = "";  // a plan of buckets as text, in place of a packing
  int pieces = 1;            // a bucket is cut into so many, each summed by itself
  // float16 or bfloat16: how gradients travel; they are summed as float32, and the sums are rounded
  // to it. undefined: as they are.
  DType wire = DType::undefined;
  Topology topology = {};  // what `auto` goes by
  int processes = 1;       // each holds the same number of replicas, in order
  std::vector<int> ring_order =
      {};  // xring: a process's replicas in order of the ring; default 0, 1, ..
};

class AllReducer {
 public:
  // Throws when the spec does not fit so many replicas.
  AllReducer(const AllReduceOptions& options, int replicas);

  // Of one replica's gradients, in its graph: the sums, named <gradient>_sum, or the means
  // (<gradient>_mean) that the spec asks for, the same bits on all replicas. Buckets are packed,
  // reduced and taken apart. Shapes must be known.
  std::vector<Value> sum_all(Graph& one, const std::vector<Value>& gradients,
                             const std::vector<std::string>& params);
  Value sum(Graph& one, Value gradient, const std::string& param);

  // What sum_all() packed, for people and to be read back.
  const std::string& bucket_plan() const { return bucket_plan_; }

 private:
  bool means() const { return options_.spec.reduction == Reduction::mean; }
  std::string result_name(const Graph& one, Value gradient) const;
  // For a tensor of that size.
  AllReduceRange algorithm_for(std::size_t range, double bytes);
  void sum_bucket(Graph& one, const std::vector<Value>& gradients, const Bucket& bucket,
                  const std::string& name, std::vector<Value>& sums);
  Value sum_in_pieces(Graph& one, Value flat, const std::string& name);

  AllReduceOptions options_;
  int replicas_;
  std::string bucket_plan_;
  std::string choices_;           // of `auto`, since sum_all() last took them: a line each
  std::vector<int64_t> tensors_;  // so far, by range: gather replicas go round with them
};

}  // namespace lockstep
