// SPDX-License-Identifier: Apache-2.0
// A batch that stays on the devices while many steps slice their minibatches from it, as in
// load_data of Ray's LocalSyncParallelOptimizer. The rows of a batch are the rows of sequences of
// equal length, one sequence after the other; an input of states has one row for each sequence. The
// model must be built with DataParallelOptions::resident.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "lockstep/data_parallel.h"
#include "lockstep/session.h"

namespace lockstep {

// The division of a loaded batch over replicas and minibatches.
struct ResidentLoad {
  int64_t replicas = 1;
  int64_t length = 1;     // T: rows of a sequence
  int64_t minibatch = 1;  // b: rows of a minibatch on one replica
  int64_t loaded = 0;     // rows on all replicas together
  int64_t lost = 0;       // rows of the batch that fill no minibatch of every replica

  int64_t held() const { return loaded / replicas; }  // rows of one replica
  int64_t minibatches() const { return held() / minibatch; }
  // A replica's part of the batch, and of the inputs of states.
  Rows rows_of(int64_t replica) const { return {replica * held(), held()}; }
  Rows states_of(int64_t replica) const { return {replica * held() / length, held() / length}; }
};

// "120 of 130 rows: 3 minibatches of 10 rows on each of 4 replicas; 10 rows are left out"
std::string text_of(const ResidentLoad& load);

// The options of ResidentBatch::sweep().
struct Sweep {
  int64_t epochs = 1;  // each visits every minibatch once
  uint64_t seed = 1;
  int64_t first_epoch = 0;  // the number of the first epoch, which decides its order
  uint64_t first_step = 0;  // the number of the first step
  // If set, all values are checked, and the first non-finite value of the sweep is stored here. Its
  // `step` should be -1 before.
  NotFinite* not_finite = nullptr;
};

class ResidentBatch {
 public:
  // `session` must outlive the batch. Throws if its model has no resident inputs.
  explicit ResidentBatch(Session& session);
  ResidentBatch(const ResidentBatch&) = delete;

  // Copies the whole run's batch, by input, to the devices. Each replica gets its part. A process
  // reads only the parts of its own replicas, but all processes must call load(), with the same
  // number of rows. Returns the division of the batch, with the number of rows that are left out.
  // If the inputs do not fit, throws before anything is loaded.
  [[nodiscard]] const ResidentLoad& load(const std::map<std::string, Tensor>& inputs);
  const ResidentLoad& loaded() const;  // throws if nothing is loaded
  // The bytes loaded on this process's replicas together.
  std::size_t bytes() const { return bytes_; }

  // For the rate and for inputs that are not resident.
  Feeds& feeds() { return feeds_; }
  // Runs step number `step` on the minibatch that begins at row `index` of each replica, the first
  // row of a sequence. The result is valid until the next step.
  Results optimize(int64_t index, uint64_t step) {
    return optimize(index, session_.run_options(step));
  }
  Results optimize(int64_t index, const RunOptions& options);

  // Runs a step on every minibatch, in a random order that is equal in every process. `visit` is
  // called after each step; the results are valid during the call. Returns the number of the step
  // that follows.
  using Visit = std::function<void(uint64_t step, const Results& results)>;
  uint64_t sweep(const Sweep& sweep, const Visit& visit = {});

 private:
  struct Size {
    int64_t rows = -1, states = -1;  // states -1: none
  };
  Size size_of_batch(const std::map<std::string, Tensor>& inputs) const;
  void check_input(const std::string& name, const Tensor& tensor) const;
  void check_same_batch(const Size& size) const;
  void feed_minibatch();
  void feed(const struct MinibatchFeeds& feeds, int64_t& index, int64_t rows);

  Session& session_;
  const ResidentInputs inputs_;
  Feeds feeds_;
  ResidentLoad load_;
  std::size_t bytes_ = 0;
  bool is_loaded_ = false;
  bool is_fed_ = false;             // the number of the minibatch's rows, since the last load
  int64_t row_ = 0, sequence_ = 0;  // the minibatch's beginning; read by the steps
};

}  // namespace lockstep
