// SPDX-License-Identifier: Apache-2.0
// The arrays that a network is fed, and the types of their examples.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/arrays/config.h"
#include "app/arrays/network.h"
#include "data/arrays/arrays.h"

namespace lockstep {

// Throws for a name in DATA.SOURCES or DATA.PADDING that no array of `fed` has: the value would
// have no effect.
void check_names_of_arrays(const ArraysConfig& config, const std::vector<FedArray>& fed);

// Opens the arrays in `path`, a file or a folder. Errors name `key`.
std::unique_ptr<ArraySet> open_arrays(const ArraysConfig& config, const std::string& key,
                                      const std::string& path, const std::vector<FedArray>& fed);

// The types of an example, by array, in each form of the set.
std::vector<ExampleTypes> example_types(const ArraySet& set);

// "x float32[13], y float32[1]"
std::string text_of_arrays(const ArraySet& set);

// The position of a feed in a set.
std::size_t place_of(const ArraySet& set, const std::string& feed);

// Batches of one example, without the dimension of the batch.
class WholeExamples final : public MinibatchSource {
 public:
  explicit WholeExamples(std::unique_ptr<ArrayBatches> batches);

  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t step) const override { return batches_->form(step); }
  int64_t items() const override { return batches_->items(); }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override;

 private:
  std::unique_ptr<ArrayBatches> batches_;
  std::vector<MinibatchForm> forms_;
};

}  // namespace lockstep
