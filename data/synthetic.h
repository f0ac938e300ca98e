// SPDX-License-Identifier: Apache-2.0
// Images of a coloured pattern for each class, with noise, drawn on demand. Any size and any number
// of classes, without download or storage.
#pragma once

#include "data/dataset.h"

namespace lockstep {

Preparation synthetic_preparation(const DatasetOptions& options);

class SyntheticImages final : public Dataset {
 public:
  explicit SyntheticImages(const DatasetOptions& options);

  int64_t size() const override { return options_.size; }
  int64_t classes() const override { return options_.classes; }
  void read(int64_t index, uint64_t draw, float* image, int64_t* label) const override;

 private:
  DatasetOptions options_;
};

}  // namespace lockstep
