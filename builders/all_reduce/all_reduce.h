// SPDX-License-Identifier: Apache-2.0
// Adds the sums of gradients over the replicas to one replica's graph. A sum is a collective with
// one operand, marked with the algorithm for a tensor of its size. expand.h replaces the collective
// by the algorithm's nodes once the replicas exist.
#pragma once

#include <string>
#include <vector>

#include "builders/all_reduce/packing.h"
#include "lockstep/all_reduce.h"
#include "lockstep/graph.h"

namespace lockstep {

// 0, 1, .. if the options give none.
std::vector<int> ring_order_of(const AllReduceOptions& options, int replicas);

// Throws if spec, processes or ring order do not fit this number of replicas.
void check_fits(const AllReduceOptions& options, int replicas);

class AllReducer {
 public:
  // Throws as check_fits() does.
  AllReducer(const AllReduceOptions& options, int replicas);

  // In the graph of one replica: the sums of its gradients, named <gradient>_sum, or the means
  // (<gradient>_mean) if the spec says so, with the same bits on all replicas. Buckets are packed,
  // reduced and unpacked. Shapes must be known.
  std::vector<Value> sum_all(Graph& one, const std::vector<Value>& gradients,
                             const std::vector<std::string>& params);
  Value sum(Graph& one, Value gradient, const std::string& param);

  // The packing chosen by sum_all(), as readable text that parse_buckets() reads back.
  const std::string& bucket_plan() const { return bucket_plan_; }

 private:
  bool means() const { return options_.spec.reduction == Reduction::mean; }
  std::string result_name(const Graph& one, Value gradient) const;
  // A range of the spec; for `auto`, the algorithm chosen for this many bytes.
  AllReduceRange algorithm_for(std::size_t range, double bytes);
  void sum_bucket(Graph& one, const std::vector<Value>& gradients, const Bucket& bucket,
                  const std::string& name, std::vector<Value>& sums);
  Value sum_in_pieces(Graph& one, Value flat, const std::string& name);

  AllReduceOptions options_;
  int replicas_;
  std::string bucket_plan_;
  std::string choices_;           // of `auto` for the current bucket, a line each
  std::vector<int64_t> tensors_;  // so far, by range: gather replicas rotate with them
};

}  // namespace lockstep
