// SPDX-License-Identifier: Apache-2.0
// Images of a coloured pattern per class under noise, drawn on demand: any size, any number of
// classes, nothing to download or store.
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
