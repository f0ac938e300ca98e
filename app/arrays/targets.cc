// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/targets.h"

namespace lockstep {
namespace {

FedArray& array_named(std::vector<FedArray>& fed, const std::string& name) {
  for (FedArray& array : fed)
    if (array.name == name) return array;
  return fed.emplace_back(FedArray{.name = name, .dtype = DType::float32, .casts = true});
}

void add_numbers(std::vector<FedArray>& fed, const std::string& name) {
  if (!name.empty()) array_named(fed, name);
}

// Integers, also where another use reads them as numbers. The end of a ragged example is followed
// by labels that do not count.
void add_labels(std::vector<FedArray>& fed, const std::string& name, int64_t ignore) {
  FedArray& labels = array_named(fed, name);
  if (labels.dtype == DType::int64) return;
  labels.dtype = DType::int64;
  labels.padding = static_cast<double>(ignore);
}

void add_operands(std::vector<FedArray>& fed, const std::string& target, bool of_labels,
                  int64_t ignore, const std::string& mask) {
  if (of_labels)
    add_labels(fed, target, ignore);
  else
    add_numbers(fed, target);
  add_numbers(fed, mask);
}

}  // namespace

std::vector<FedArray> beside_losses(const std::vector<LossTerm>& terms) {
  std::vector<FedArray> fed;
  for (const LossTerm& term : terms)
    if (term.kind)
      add_operands(fed, term.target, term.kind->of_labels, term.options.ignore, term.mask);
  return fed;
}

std::vector<FedArray> beside_tests(const std::vector<LossTerm>& terms,
                                   const std::vector<Metric>& metrics) {
  std::vector<FedArray> fed = beside_losses(terms);
  for (const Metric& metric : metrics)
    add_operands(fed, metric.target, metric.kind->of_classes, metric.options.ignore, metric.mask);
  return fed;
}

}  // namespace lockstep
