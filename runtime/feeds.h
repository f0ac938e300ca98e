// Feeds: what one training step is fed with, by name. It knows the model's inputs, shares a batch
// out over replicas and parts, and refuses by name what is missing, doubled or of another shape.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/training.h"
#include "runtime/tensor.h"

namespace lockstep {

struct Rows {
  int64_t first = 0, count = 0;
};
// Share number `share` of a batch. Shares follow one another and differ by one row at the most.
Rows rows_of_share(int64_t batch, int64_t share, int64_t shares);

// How a batch is shared out: over replicas, and over the parts that each computes one after the
// other.
struct BatchShares {
  int64_t batch = 0, replicas = 1, parts = 1;

  int64_t count() const { return replicas * parts; }
  bool equal() const { return batch % count() == 0; }
  bool leave_nothing() const { return batch < count(); }  // for some of them
  Rows rows(int64_t replica, int64_t part) const {
    return rows_of_share(batch, replica * parts + part, count());
  }
};

// For a model that was cut for one process (builders/step/partition.h): the batch of all processes.
// 0: their shares are equal.
struct WholeRun {
  int64_t batch = 0;
};

class Feeds {
 public:
  explicit Feeds(const TrainingModel& model,
                 const WholeRun& whole = {});  // `model` must outlive it
  Feeds(const Feeds&) = delete;

  // The rows of all replicas (of a process: its own), one replica's after the other's. They are
  // read where they lie when the step runs. Rows are the batch's where the input declares no number
  // of them. Of any other input every share gets all that is given, or, where that is as many times
  // as large as there are shares, an equal part.
  void set(std::string_view name, const Tensor& rows);
  // Every input of that role, the rate or a correction. Losses' weights follow from the rows.
  void set(Role role, float value);
  bool has(Role role) const;
  // Of the whole run's batch, by replica.
  std::span<const float> shares() const { return shares_of_batch_; }

  // In the order of Session::step(). Throws naming what was never set. What was set stays so; rows
  // are set once between two steps at the most.
  std::span<const Tensor> tensors();

 private:
  void set_part(std::size_t input, const Tensor& rows);
  void set_whole(std::size_t input, const Tensor& rows);
  void set_equal_parts(std::size_t input, const Tensor& rows);
  void set_share_of_batch(std::size_t input, const Tensor& rows);
  // The whole run's, of which `rows` are this process's.
  int64_t batch_with(const std::string& feed, int64_t rows) const;
  Rows rows_of(int64_t batch, int64_t replica, int part) const;
  void weigh(int64_t batch);
  TensorDesc desc_of(std::size_t input) const;
  std::string feeds_known() const;

  const TrainingModel& model_;
  WholeRun whole_;
  int whole_replicas_;
  int parts_ = 1;
  bool any_open_ = false;    // whether any input declares no number of rows
  int64_t fixed_rows_ = -1;  // of a share, where all inputs declare theirs: the first one's
  std::vector<bool> set_, set_anew_;  // by input: ever, and since the last step
  std::vector<Tensor> tensors_;       // input by input, replicas inside
  std::deque<float> numbers_;         // that tensors_ point to
  std::vector<float> shares_of_batch_;
  int64_t batch_ = -1;  // of the inputs that were shared out
};

}  // namespace lockstep
