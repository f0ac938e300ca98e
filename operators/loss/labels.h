// SPDX-License-Identifier: Apache-2.0
// Errors about labels that are no class, for the kernels of losses.
#pragma once

#include <string>

#include "lockstep/kernel.h"

namespace lockstep {

// Errors about the labels of a node.
class LabelErrors {
 public:
  // `labels` is the index of the operand. A label should be from 0 to `classes` - 1.
  LabelErrors(const KernelRequest& request, std::size_t labels, int64_t classes);

  // "label 7 of row 3 of 'cpu_0/label' is outside 0..1 (and is not ignored)". `place` is the index
  // among all labels.
  std::string text(int64_t label, int64_t place) const;
  // Throws an error with the node and this text.
  [[noreturn]] void raise(int64_t label, int64_t place) const;

 private:
  std::string node_, operand_;
  Dims dims_;
  int64_t classes_;
};

}  // namespace lockstep
