// SPDX-License-Identifier: Apache-2.0
// Minibatches for a classifier: shuffled images of a data set, with labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/epoch_order.h"
#include "data/skipped_pictures.h"
#include "lockstep/loader.h"

namespace lockstep {

struct LabelledImagesOptions {
  int64_t batch = 64;
  // The process's part of each batch.
  int64_t first = 0;
  int64_t count = -1;  // -1: to the end
  uint64_t seed = 1;
  bool shuffle = true;  // false: in the data set's order, epoch after epoch
  bool bytes = false;   // images as bytes, before normalisation
  // With `nothing`, the row of a bad image has zeros and the label -1.
  InPlaceOfBad in_place_of_bad = InPlaceOfBad::nothing_and_stop;
  // The parameter of mixed_pictures.h's shares; 0: pictures are not mixed. Mixed pictures have two
  // labels, the heavier first, and the lighter's share.
  double mixup = 0;
  std::string images = "data", labels = "label";  // names of the tensors
  std::string second_label = "second_label", second_share = "second_share";
};

class LabelledImages final : public MinibatchSource {
 public:
  // `dataset` must outlive this object.
  LabelledImages(const Dataset& dataset, const LabelledImagesOptions& options);

  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t) const override { return 0; }
  int64_t items() const override { return options_.count; }
  int64_t images_of_step() const { return options_.batch; }  // over all processes
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override;

  SkippedPictures& skipped() const { return skipped_; }

 private:
  // A row of this process: an image, as bytes or floats, and its label.
  struct Row {
    void* image;
    int64_t* label;
  };
  int64_t index_at(int64_t position) const;
  Row row_of(int64_t item, std::span<const Tensor> tensors) const;
  // Reads the image at `place` of the step of all processes. `bad` counts a bad image as the
  // item's.
  void read_place(int64_t step, int64_t place, int64_t item, const Row& row,
                  SkippedPictures& bad) const;
  void replace(int64_t step, int64_t place, int64_t item, const Row& row, SkippedPictures& bad,
               const std::string& why) const;
  void mix(int64_t step, int64_t item, std::span<const Tensor> tensors) const;
  void write(int64_t index, uint64_t draw, const Row& row) const;
  void write_nothing(const Row& row) const;

  const Dataset& dataset_;
  LabelledImagesOptions options_;
  EpochOrder order_;
  std::vector<MinibatchForm> forms_;
  mutable SkippedPictures skipped_;
};

}  // namespace lockstep
