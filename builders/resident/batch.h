// SPDX-License-Identifier: Apache-2.0
// ResidentBatch: loads a batch onto the devices of a session once, then takes many steps over its
// minibatches. The model is built with DataParallelOptions::resident.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "builders/resident/inputs.h"
#include "runtime/state/session.h"

namespace lockstep {

struct Sweep {
  int64_t epochs = 1;  // each visits every minibatch once
  uint64_t seed = 1;
  int64_t first_epoch = 0;  // the number of the first of them, which decides its order
  uint64_t first_step = 0;  // the number of the first step
  // If set, all values are checked, and the first bad one of the whole sweep is stored here.
  NotFinite* not_finite = nullptr;
};

class ResidentBatch {
 public:
  // `session` must outlive it.
  explicit ResidentBatch(Session& session);
  ResidentBatch(const ResidentBatch&) = delete;

  // `inputs`: the whole run's batch by input, the rows of sequences one after the other. Each
  // replica gets its part (load.h); a process reads only those of its own replicas, but all
  // processes must call it, with as many rows. Returns how the batch is shared out, with the number
  // of rows that are left out. Throws before anything is loaded.
  [[nodiscard]] const ResidentLoad& load(const std::map<std::string, Tensor>& inputs);
  const ResidentLoad& loaded() const;  // throws if nothing is
  // Of what is loaded, on this process's replicas together.
  std::size_t bytes() const { return bytes_; }

  // For the rate and for inputs that are not resident.
  Feeds& feeds() { return feeds_; }
  // Runs step number `step` on the minibatch that begins at row `index` of each replica.
  Answers optimize(int64_t index, uint64_t step) {
    return optimize(index, session_.run_options(step));
  }
  Answers optimize(int64_t index, const RunOptions& options);

  // Steps over all minibatches in random order, the same in every process. Answers are valid during
  // the visit. Returns the number of the step that follows.
  using Visit = std::function<void(uint64_t step, const Answers& answers)>;
  uint64_t sweep(const Sweep& sweep, const Visit& visit = {});

 private:
  struct Size {
    int64_t rows = -1, states = -1;  // states -1: none
  };
  Size size_of_batch(const std::map<std::string, Tensor>& inputs) const;
  void check_input(const std::string& name, const Tensor& tensor) const;
  void check_same_batch(const Size& size) const;
  void feed_minibatch();
  void feed(const MinibatchFeeds& feeds, int64_t& index, int64_t rows);

  Session& session_;
  const ResidentInputs inputs_;
  Feeds feeds_;
  ResidentLoad load_;
  std::size_t bytes_ = 0;
  bool is_loaded_ = false;
  bool is_fed_ = false;             // the number of the minibatch's rows, since the last load
  int64_t row_ = 0, sequence_ = 0;  // where the minibatch begins; read by the steps
};

}  // namespace lockstep
