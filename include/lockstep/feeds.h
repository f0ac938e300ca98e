// SPDX-License-Identifier: Apache-2.0
// Feeds: the inputs of one training step, by name. A batch is divided over replicas and parts.
// Inputs that are missing, given twice or of the wrong shape are rejected by name.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/tensor.h"
#include "lockstep/training_model.h"

namespace lockstep {

struct Rows {
  int64_t first = 0, count = 0;
};
// A view of some rows of a row-major tensor. The tensor's memory must outlive the view.
Tensor rows_from(const Tensor& tensor, const Rows& rows);
// The rows of share number `share`. Shares are consecutive and differ by at most one row.
Rows rows_of_share(int64_t batch, int64_t share, int64_t shares);

// The division of a batch over replicas, and over the parts that each replica computes in sequence.
struct BatchShares {
  int64_t batch = 0, replicas = 1, parts = 1;

  int64_t count() const { return replicas * parts; }
  bool equal() const { return batch % count() == 0; }
  bool leave_nothing() const { return batch < count(); }  // some shares are empty
  Rows rows(int64_t replica, int64_t part) const {
    return rows_of_share(batch, replica * parts + part, count());
  }
};

// The batch of all processes, for a model cut for one process (partition() in data_parallel.h).
// 0: all processes have equal shares.
struct WholeRun {
  int64_t batch = 0;
};

class Feeds {
 public:
  explicit Feeds(const TrainingModel& model,
                 const WholeRun& whole = {});  // `model` must outlive the feeds
  Feeds(const Feeds&) = delete;

  // Sets the rows of all replicas of this process, one replica's after the other's. The step reads
  // them in place, so their memory must stay valid until the last step that reads them. If the
  // input declares no number of rows, its rows are the batch's. For any other input every share
  // gets the whole tensor, or an equal part if the tensor holds the declared rows once for each
  // share. Throws for an unknown name, a wrong type or shape, and a batch that cannot be divided.
  void set(std::string_view name, const Tensor& rows);
  // Sets every input of this role: the rate or a correction. Loss weights follow from the rows.
  void set(Role role, float value);
  bool has(Role role) const;
  // Each replica's share of the whole run's batch.
  std::span<const float> shares() const { return shares_of_batch_; }

  // The tensors to run a step with, in the order of Session::step(). Throws naming inputs that were
  // never set. Inputs keep their values from step to step. Between two calls the rows of an input
  // may be set once.
  std::span<const Tensor> tensors();

 private:
  void set_part(std::size_t input, const Tensor& rows);
  void set_whole(std::size_t input, const Tensor& rows);
  void set_equal_parts(std::size_t input, const Tensor& rows);
  void set_share_of_batch(std::size_t input, const Tensor& rows);
  // The whole run's batch, given this process's `rows`.
  int64_t batch_with(const std::string& feed, int64_t rows) const;
  Rows rows_of(int64_t batch, int64_t replica, int part) const;
  void weigh(int64_t batch);
  void check_one_batch() const;
  TensorDesc desc_of(std::size_t input) const;
  std::string feeds_known() const;

  const TrainingModel& model_;
  WholeRun whole_;
  int whole_replicas_;
  int parts_ = 1;
  bool any_open_ = false;    // an input leaves its number of rows open
  int64_t fixed_rows_ = -1;  // rows of a share if all inputs declare theirs: the first one's
  std::vector<bool> set_, set_anew_;  // by input: ever set, and set since the last step
  std::vector<int64_t> batches_;      // by input: the batch of its rows; 0: none
  std::vector<Tensor> tensors_;       // input by input, replicas inside
  std::deque<float> numbers_;         // storage that tensors_ point to
  std::vector<float> shares_of_batch_;
  int64_t batch_ = -1;  // rows of the last batch that was divided; -1: none yet
};

}  // namespace lockstep
