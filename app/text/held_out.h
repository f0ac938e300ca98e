// SPDX-License-Identifier: Apache-2.0
// The test of a language model on its held-out text.
#pragma once

#include <memory>
#include <vector>

#include "app/text/corpus.h"
#include "graph/passes/predict.h"
#include "lockstep/session.h"
#include "lockstep/text.h"

namespace lockstep {

struct TextScore {
  int64_t characters = 0;
  double loss = 0;  // mean of -log(probability of the actual character)

  double bits_per_character() const;
  double perplexity() const;
  // The geometric mean of the probabilities: 1 / perplexity.
  double mean_probability() const;
};

class HeldOutText {
 public:
  // All replicas of all processes divide the rows; all processes make the same calls. `corpus` and
  // `session` must outlive this object.
  HeldOutText(const TextCorpus& corpus, int64_t length, Session& session);

  int64_t characters() const { return characters_; }
  // Tests with the current parameters. With several processes the result is rank 0's.
  TextScore test();

 private:
  void test_own_share(std::vector<double>& losses);
  void fill(std::size_t row, int64_t* characters) const;
  double loss_of(std::size_t row, const float* prob) const;

  const TextCorpus& corpus_;
  int64_t length_;
  Session& session_;
  std::vector<ScoredRow> rows_;
  int64_t characters_ = 0;
  Predictors predictors_;
  std::unique_ptr<Program> program_;
  int64_t here_, replicas_;  // replicas of this process, and of all
  int64_t batch_;            // rows of a replica at a time
};

}  // namespace lockstep
