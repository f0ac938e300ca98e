// SPDX-License-Identifier: Apache-2.0
// The worst and the best examples of a test, as pictures for the report.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/arrays/example_set.h"
#include "app/arrays/metrics.h"
#include "app/report/comparisons.h"
#include "lockstep/feeds.h"

namespace lockstep {

// Shows outputs that are scores of masks, over their pictures, and outputs with the shape of a
// picture.
class ShownExamples {
 public:
  // `metric` compares examples; `picture` is a tensor of the set. Both outlive this object.
  ShownExamples(const Metric& metric, const ExampleSet& set, std::string picture);

  // Sees some examples: their tensors of this form and the metric's output.
  void see(const Rows& examples, const MinibatchForm& form, std::span<const Tensor> tensors,
           const Tensor& output);
  // "" if no example can be shown.
  std::string html() const;

 private:
  struct Shown {
    double rank = 0;  // the largest is best
    ShownComparison comparison;
    int64_t example = 0;
  };
  void see_row(int64_t example, const Tensor& picture, const Tensor& target, const Tensor& output,
               const Tensor& mask);
  std::optional<ShownComparison> comparison(const Tensor& picture, const Tensor& target,
                                            const Tensor& output) const;

  const Metric& metric_;
  const ExampleSet& set_;
  std::string picture_;
  std::vector<Shown> worst_, best_;  // the first is the worst, the best
};

// Nothing if the set has no pictures, or there is no metric to compare examples by.
std::optional<ShownExamples> shown_examples(const std::vector<Metric>& metrics,
                                            const ExampleSet& set);

}  // namespace lockstep
