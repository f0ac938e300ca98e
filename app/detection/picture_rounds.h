// SPDX-License-Identifier: Apache-2.0
// The pictures that a detector predicts on, in rounds. A round has pictures of one padded size, one
// for each replica.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "app/detection/detector_config.h"
#include "data/detection/padded_shapes.h"
#include "data/detection/picture.h"
#include "data/detection/picture_set.h"
#include "lockstep/loader.h"

namespace lockstep {

// Pictures by index. Both functions are called from several threads.
struct PictureList {
  std::vector<PictureSize> sizes;
  std::function<Image(std::size_t)> read;
  PictureProposals proposals = {};  // for a network that has no RPN
};

// A list of images in memory, which must outlive the list.
PictureList list_of_pictures(std::span<const Image> images);

// Each step of the source is a round: `data` [R, 3, H, W] and `im_info` [R, 3], for networks
// without an RPN also `proposals` [R, P, 4]. The last round of a size may leave replicas without a
// picture.
class PictureRounds final : public MinibatchSource {
 public:
  // `list` must outlive this object.
  PictureRounds(const DetectorConfig& config, const PictureList& list, int64_t replicas);

  int64_t rounds() const { return static_cast<int64_t>(rounds_.size()); }
  // Indices in the list of the pictures of replicas 0, 1, ..
  std::span<const std::size_t> pictures(int64_t round) const;
  const PictureSize& size(int64_t round) const;  // padded

  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t round) const override;
  int64_t items() const override { return replicas_; }
  void read(int64_t round, int64_t item, std::span<const Tensor> tensors) const override;

 private:
  struct Round {
    std::size_t form = 0;
    std::vector<std::size_t> pictures;
  };
  PictureScale scaled(std::size_t picture) const;
  void add_rounds(const PictureSize& padded_size, const std::vector<std::size_t>& pictures);
  void write_proposals_of(std::size_t picture, float* places) const;

  const PictureList& list_;
  int64_t replicas_, scale_, longest_, places_;  // slots of proposals; 0: the network makes its own
  PictureRules rules_;
  std::vector<PictureSize> sizes_;  // by form
  std::vector<MinibatchForm> forms_;
  std::vector<Round> rounds_;
};

}  // namespace lockstep
