// SPDX-License-Identifier: Apache-2.0
// The types of the examples that a network is fed, and minibatches of one example.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/arrays/example_set.h"
#include "app/arrays/network.h"

namespace lockstep {

// Throws for a name in DATA.SOURCES, DATA.PADDING or DATA.COLUMNS that no tensor of `fed` has: the
// value would have no effect.
void check_names_of_arrays(const ArraysConfig& config, const std::vector<FedArray>& fed);

// The types of an example, by array, in each form of the set.
std::vector<ExampleTypes> example_types(const ExampleSet& set);

// The position of a feed in a form of the set.
std::size_t place_of(const MinibatchForm& form, const std::string& feed);

// Batches of one example, without the dimension of the batch.
class WholeExamples final : public MinibatchSource {
 public:
  explicit WholeExamples(std::unique_ptr<MinibatchSource> batches);

  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t step) const override { return batches_->form(step); }
  int64_t items() const override { return batches_->items(); }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override;

 private:
  std::unique_ptr<MinibatchSource> batches_;
  std::vector<MinibatchForm> forms_;
};

}  // namespace lockstep
