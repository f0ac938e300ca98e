// SPDX-License-Identifier: Apache-2.0
// Sums the gradients of embeddings by rows: the rows of all replicas and their positions are
// joined, in replica order, and every replica adds them up in this order. The sum is a tensor like
// any other, and so is the update.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "builders/step/one_replica.h"
#include "lockstep/data_parallel.h"

namespace lockstep {

// Gradients that are summed by their rows.
class EmbeddingSums {
 public:
  // Takes them from `one`, which has no gradient of these parameters until add_to(). Invalidates
  // all values that `one` does not list.
  EmbeddingSums(OneReplica& one, const DataParallelOptions& options);
  // Adds the sums over all replicas, or the means.
  void add_to(OneReplica& one, const DataParallelOptions& options) const;
  // What was chosen for each embedding, and why: metadata of the model.
  const std::map<std::string, std::string>& choices() const { return choices_; }

 private:
  struct Part {
    Value rows, places;  // what GatherGrad would add up, and where to
  };
  struct Table {
    std::size_t param;
    std::vector<Part> parts;  // of a replica's micro-batches
    std::string why;
  };
  std::vector<Table> tables_;
  std::map<std::string, std::string> choices_;
};

}  // namespace lockstep
