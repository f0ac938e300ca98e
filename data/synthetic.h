// Images of a coloured pattern by class under noise, drawn when they are asked for: any size, any
// number of classes, nothing to download or to keep.
#pragma once

#include "data/dataset.h"

namespace lockstep {

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
