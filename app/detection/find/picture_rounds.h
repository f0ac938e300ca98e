// SPDX-License-Identifier: Apache-2.0
// Views of pictures that a detector predicts on, in rounds. A round has views of one padded size,
// one for each replica.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "app/detection/find/views.h"
#include "data/detection/padded_shapes.h"
#include "data/detection/picture.h"
#include "data/detection/picture_set.h"
#include "lockstep/loader.h"
#include "lockstep/processes.h"

namespace lockstep {

// Pictures by index. Both functions are called from several threads.
struct PictureList {
  std::vector<PictureSize> sizes;
  std::function<Image(std::size_t)> read;
  PictureProposals proposals = {};  // for a network that has no RPN
};

// A list of images in memory, which must outlive the list.
PictureList list_of_pictures(std::span<const Image> images);

// The pictures of one process, which takes every n-th.
struct PictureShare {
  std::size_t first = 0, step = 1;
};
PictureShare share_of_pictures(const Comm* comm);

// A picture of a set. A picture that cannot be read is an error, or, with `skips`
// (TRAIN.SKIP_BAD_IMAGES), blank and of the annotated size, with the reason in `why`.
Image picture_or_blank(const PictureSet& set, std::size_t number, bool skips, std::string& why);

struct PictureView {
  std::size_t picture = 0;  // in a list
  View view;
};
// All views of the pictures [first, last) of a list, picture by picture.
std::vector<PictureView> views_of_pictures(const PictureList& list,
                                           const std::vector<ViewRules>& views, std::size_t first,
                                           std::size_t last);

// The size of a picture within the network's input, and its scale: `im_info`.
std::array<float, 3> extent_of(const PictureScale& scale);

// Each step of the source is a round: `data` [R, 3, H, W] and `im_info` [R, 3], for networks
// without an RPN also `proposals` [R, P, 4],
// unless they predict feature maps alone. The last round of a size may leave replicas without a
// view.
class PictureRounds final : public MinibatchSource {
 public:
  // `list` must outlive this object. There is at least one view.
  PictureRounds(const DetectorConfig& config, const PictureList& list,
                std::vector<PictureView> views, int64_t replicas);

  int64_t rounds() const { return static_cast<int64_t>(rounds_.size()); }
  // Indices of the views of replicas 0, 1, ..
  std::span<const std::size_t> views(int64_t round) const;
  const PictureView& view(std::size_t index) const { return views_[index]; }
  const PictureSize& size(int64_t round) const;  // padded

  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t round) const override;
  int64_t items() const override { return replicas_; }
  void read(int64_t round, int64_t item, std::span<const Tensor> tensors) const override;

 private:
  struct Round {
    std::size_t form = 0;
    std::vector<std::size_t> views;
  };
  void add_rounds(const PictureSize& padded_size, const std::vector<std::size_t>& views);
  void write_proposals_of(const PictureView& view, float* places) const;

  const PictureList& list_;
  std::vector<PictureView> views_;
  int64_t replicas_, places_;  // slots of proposals; 0: the network makes its own
  double dedup_;               // DEDUP_BOXES
  PictureRules rules_;
  std::vector<PictureSize> sizes_;  // by form
  std::vector<MinibatchForm> forms_;
  std::vector<Round> rounds_;
};

}  // namespace lockstep
