// SPDX-License-Identifier: Apache-2.0
// The test of a network on held-out arrays.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/arrays/config.h"
#include "app/arrays/example_set.h"
#include "app/arrays/network.h"
#include "app/arrays/shown_examples.h"
#include "lockstep/session.h"

namespace lockstep {

struct ArraysScore {
  int64_t examples = 0;
  double loss = 0;
  std::vector<double> metrics = {};  // in the order of TEST.METRICS
};

// A number of 0 to 1 that orders results by the first metric, or by the loss: the largest is best.
double rank_of(const ArraysScore& score, const std::vector<Metric>& metrics);
// The first metric or the loss, from its rank.
double value_of_rank(double rank, const std::vector<Metric>& metrics);

class HeldOutArrays {
 public:
  // All replicas of all processes divide the examples; all processes make the same calls. The
  // arguments must outlive this object.
  HeldOutArrays(const ArraysConfig& config, const ArraysNetwork& network, const ExampleSet& set,
                Session& session);
  ~HeldOutArrays();

  // The number of examples that a network of a fixed number of rows leaves out at the end.
  int64_t left_out() const;
  std::string text_of_left_out() const;  // a line for people; "" if none are left out
  // Tests with the current parameters and replica 0's running statistics. With several processes
  // the result is rank 0's.
  // `shown`, if not null, sees the examples that this process tests.
  ArraysScore test(ShownExamples* shown = nullptr);

 private:
  struct Form;
  struct Tally;
  struct Round;
  void test_own_share(std::vector<Tally>& tallies, ShownExamples* shown);
  void test_round(const Round& round, std::vector<Tally>& tallies, ShownExamples* shown);
  void add_up(std::vector<Tally>& tallies) const;
  std::size_t form_of(const Round& round) const;
  Rows rows_of(const Round& round, int64_t replica) const;
  std::vector<Literal> batch_of(const Form& form, const Rows& rows) const;

  const ArraysConfig& config_;
  const ExampleSet& set_;
  Session& session_;
  std::vector<LossTerm> terms_;
  std::vector<Metric> metrics_;
  int64_t here_, replicas_;  // replicas of this process, and of all
  int64_t rows_;             // of a replica at a time
  bool fixed_rows_;
  std::vector<std::unique_ptr<Form>> forms_;
};

}  // namespace lockstep
