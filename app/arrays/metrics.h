// SPDX-License-Identifier: Apache-2.0
// TEST.METRICS: numbers that a test computes from outputs and targets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/tensor.h"

namespace lockstep {

// Sums over examples. The sums of two halves of the data, added, are the sums of the whole.
class MetricSums {
 public:
  virtual ~MetricSums() = default;

  // Adds `rows` examples. `mask` may have no data: all elements count. Throws for tensors that do
  // not fit each other.
  virtual void add(const Tensor& output, const Tensor& target, const Tensor& mask) = 0;
  // The sums so far, for addition to the sums of another replica.
  virtual std::vector<double> sums() const = 0;
};

struct MetricOptions {
  int64_t best = 1;              // top5: 5, the guesses that may contain the label
  int64_t ignore = -100;         // the label of places that do not count, as negative labels
  bool ignores_numbers = false;  // also in targets of numbers
  // iou of outputs with one channel: larger scores are the class 1; nothing: 0, or 0.5 where a
  // Sigmoid makes the output.
  std::optional<double> above = {};
};

struct MetricKind {
  std::string name, meaning;
  bool larger_is_better = true;
  bool is_share = false;    // from 0 to 1, shown in per cent
  bool of_classes = false;  // compares scores of classes with labels
  bool of_scores = false;   // reads scores, not the probabilities that a Softmax makes of them
  std::unique_ptr<MetricSums> (*make)(const MetricOptions& options);
  double (*value)(const std::vector<double>& sums);  // the metric of the added sums
};

struct Metric {
  std::string name;  // "accuracy", "top5"
  const MetricKind* kind = nullptr;
  MetricOptions options = {};
  std::string output = "", target = "", mask = "";
};

const std::vector<MetricKind>& metric_kinds();

// "accuracy 98.12 %", "mean_error 0.0123"
std::string text_of_metric(const Metric& metric, double value);

// Reads one line of YAML, such as {accuracy: [scores, label], top5: [scores, label]}, or
// {iou: {of: scores, to: mask, ignore: 255}}; "" is no metric. Throws for any other text.
std::vector<Metric> parse_metrics(const std::string& line);

// Adds `more` to `sums` element by element; the shorter list is extended by zeros.
void add_sums(std::vector<double>& sums, const std::vector<double>& more);

}  // namespace lockstep
