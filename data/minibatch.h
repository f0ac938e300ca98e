// SPDX-License-Identifier: Apache-2.0
// Minibatches of named tensors, made item by item so that several threads can share the work.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace lockstep {

struct NamedDesc {
  std::string name;
  TensorDesc desc;
};
// The tensors of a step, all rows of this process.
using MinibatchForm = std::vector<NamedDesc>;

// The minibatches of a training run, for the rows of this process. Everything depends on the seed
// and the numbers of step and item alone, so any step can be reached without the ones before it.
class MinibatchSource {
 public:
  virtual ~MinibatchSource() = default;

  // Every step has one of a few forms, which differ in shapes alone. Thread-safe, as all functions.
  virtual const std::vector<MinibatchForm>& forms() const = 0;
  virtual std::size_t form(int64_t step) const = 0;
  // The number of items of a step, such as its images.
  virtual int64_t items() const = 0;
  // Writes the item's rows into the step's tensors, in the order of its form. Different items may
  // be written at the same time.
  virtual void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const = 0;
};

}  // namespace lockstep
