// SPDX-License-Identifier: Apache-2.0
// The part of a task that scores the network in training on held-out data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/record/test_result.h"

namespace lockstep {

using NamedNumbers = std::vector<std::pair<std::string, double>>;

// The number that measures a network, from 0 to 1; the largest is the best.
struct ScoreKind {
  std::string number;    // of HeldOutTest::numbers
  std::string name;      // for people
  std::string metadata;  // key of the score beside weights
};

// A test of the network in training.
struct HeldOutTest {
  NamedNumbers numbers;  // names without the prefix: accuracy for test_accuracy and test/accuracy
  double score = 0;
  // The value that the score ranks, such as a loss; nothing: the score, and larger is better.
  std::optional<double> measured = std::nullopt;
  bool larger_is_better = true;
  std::string trouble;                // "the held-out loss is nan": the weights are worth nothing
  std::string headline;               // "held-out accuracy 98.12 %"
  std::string detail;                 // "loss 0.0512"
  std::string section;                // of report.html
  std::vector<std::string> left_out;  // reasons why pictures cannot be read
  std::vector<SamplePicture> pictures;
  std::string pictures_are;  // a description
};

// Called once the data is open.
class Testing {
 public:
  virtual ~Testing() = default;

  virtual ScoreKind score_kind() const = 0;
  // Tests with the current parameters; complete only on rank 0.
  virtual HeldOutTest test(int64_t iterations) = 0;
  // True if the run may end after this test; equal in all processes.
  virtual bool is_enough(const HeldOutTest&) const { return false; }
};

}  // namespace lockstep
