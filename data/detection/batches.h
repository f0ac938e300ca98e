// SPDX-License-Identifier: Apache-2.0
// Minibatches for the training of a detector (docs/detection.md lists the tensors).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/detection/jitter.h"
#include "data/detection/kept_pictures.h"
#include "data/detection/padded_shapes.h"
#include "data/detection/picture.h"
#include "data/detection/picture_order.h"
#include "data/detection/picture_set.h"
#include "data/feed_row.h"
#include "data/skipped_pictures.h"
#include "lockstep/loader.h"

namespace lockstep {

struct DetectionBatchOptions {
  int64_t batch = 2;                 // pictures of a step, over all replicas and processes
  int64_t first = 0, count = -1;     // this process's part; -1: all from `first` on
  std::vector<int64_t> scales{800};  // lengths of the shorter side
  bool scale_per_picture = false;    // each picture draws a scale; false: each step
  int64_t longest = 1333;            // maximum length of the longer side
  int64_t stride = 32;               // sides of padded pictures are multiples of stride
  std::size_t shapes = 6;            // maximum number of padded shapes over all scales
  int64_t places = 100;              // slots for true boxes of a picture
  int64_t vertices = 0;              // slots for vertices of its outlines; 0: no outlines
  int64_t keypoints = 0;             // points of each object; 0: no keypoints
  double least_area = -1;            // smaller objects are omitted
  bool empty_pictures = false;       // keeps pictures without any object
  JitterOptions jitter = {};         // instead of the scales
  bool mirrored = true;              // an epoch has each picture twice, once mirrored
  bool skip_bad_pictures = false;    // replaces a bad picture by another picture
  uint64_t seed = 1;
  std::array<float, 3> means = PictureRules{}.means;
  PictureSize fixed = {};  // size of all padded pictures; 0 x 0: a few sizes that fit best
  // Proposals for networks without an RPN, at most `proposal_places` of a picture.
  PictureProposals proposals = {};
  int64_t proposal_places = 2000;
};

class DetectionBatches final : public MinibatchSource {
 public:
  // `pictures` must outlive this object. Pictures without a box to train on, and with `keypoints`
  // pictures without a labelled one, are omitted, except pictures without any object if
  // `empty_pictures` is set.
  DetectionBatches(const PictureSet& pictures, const DetectionBatchOptions& options);

  // Replaces the part of each step given by the options. Must be called before the first read.
  void take(int64_t first, int64_t count);

  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t step) const override;
  int64_t items() const override { return options_.count; }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override;

  // The padded shape of each form, by ascending area.
  const std::vector<PictureSize>& shapes() const { return all_shapes_; }
  PictureSize shape(int64_t step) const { return all_shapes_[form(step)]; }
  std::string text() const;  // a summary of chosen shapes and omitted pictures and objects
  SkippedPictures& skipped() const { return skipped_; }
  const PictureOrder& order() const { return *order_; }
  std::vector<std::size_t> pictures() const;  // numbers of pictures with a box to train on

 private:
  void choose();
  void pad_all(const std::vector<PictureSize>& sizes, std::size_t scale);
  void pad_all_to(const PictureSize& size, const char* how);
  void list_forms();
  std::vector<std::size_t> scales_of(int64_t step) const;
  std::size_t largest_scale(const std::vector<std::size_t>& scales) const;
  PicturePlace place_of(const KeptPicture& kept, int64_t step, int64_t place) const;
  std::vector<int64_t> pictures_of_group(int64_t step, int32_t group) const;
  PictureScale scaled(const KeptPicture& kept, std::size_t scale) const;
  struct Written;
  void write_proposals(const KeptPicture& kept, const ShownPart& part,
                       const std::span<float>& to) const;
  void write(const Written& picture, const PictureSize& shape, const FeedRow& row) const;

  const PictureSet& pictures_;
  DetectionBatchOptions options_;
  TruthPlaces places_;
  KeptPictures kept_;
  std::vector<int32_t> groups_;                   // of kept pictures
  std::vector<std::vector<PictureSize>> shapes_;  // by scale and group
  std::vector<PictureSize> all_shapes_;
  std::vector<MinibatchForm> forms_;
  std::string chosen_;
  std::unique_ptr<PictureOrder> order_;
  mutable SkippedPictures skipped_;
};

}  // namespace lockstep
