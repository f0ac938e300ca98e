// SPDX-License-Identifier: Apache-2.0
// Predicts with the current parameters of a session's network, on all replicas of this process.
#pragma once

#include <memory>
#include <vector>

#include "graph/passes/predict.h"
#include "lockstep/episodes.h"
#include "lockstep/session.h"

namespace lockstep {

class PolicyProgram final : public Predictor {
 public:
  // `rows` is the number of observations in a call, divided equally over the replicas. `session`
  // must outlive this object. Episodes to learn from are played by the parameters, never by their
  // averages. Throws if the network's inputs and outputs are not a policy's.
  PolicyProgram(Session& session, const EnvironmentKind& kind, int64_t rows,
                Reads reads = Reads::as_built);

  Predicted predict(std::span<const float> observations) override;

 private:
  // Joins the replicas' values of output number `output`.
  void join_rows(std::span<const Tensor> fetched, std::size_t output, std::vector<float>& all);

  Session& session_;
  std::size_t replicas_;
  std::size_t values_;     // of an observation
  int64_t rows_;           // of a replica
  Predictors predictors_;  // the program refers to their graph
  std::unique_ptr<Program> program_;
  std::vector<float> log_probabilities_, expected_;
};

}  // namespace lockstep
