// SPDX-License-Identifier: Apache-2.0
// The losses of training on held-out pictures: the forward pass of a training step, one picture on
// each replica, with the targets of training.
#pragma once

#include <vector>

#include "app/detection/config/detector_config.h"
#include "app/detection/find/picture_rounds.h"
#include "app/detection/find/recent_programs.h"
#include "app/train/testing.h"
#include "data/detection/kept_pictures.h"
#include "lockstep/session.h"

namespace lockstep {

class HeldOutLoss {
 public:
  // Uses the pictures that training would use, at the scale of a test. All processes make the same
  // calls. `config`, `session` and `pictures` must outlive this object.
  HeldOutLoss(const DetectorConfig& config, Session& session, const PictureSet& pictures,
              PictureProposals proposals = {});
  ~HeldOutLoss();

  // The mean over the pictures of `loss`, the sum of all terms, and of each term. Samples are drawn
  // alike in every call. The result is the same for any number of replicas; several processes add
  // up in another order, and only rank 0 gets it. Overwrites the results of Session::step().
  // Pictures that cannot be read are left out if TRAIN.SKIP_BAD_IMAGES is set.
  NamedNumbers losses();

 private:
  struct Network;
  struct Kept : KeptPicture {
    bool bad = false;
    std::vector<double> losses = {};  // by term
  };
  void keep_pictures();
  Network& network_for(const PictureSize& size);
  Image picture_or_blank(Kept& kept);
  void run_round(const PictureRounds& rounds, int64_t round, std::span<const Tensor> tensors);
  NamedNumbers mean_of(const std::vector<std::string>& terms) const;

  const DetectorConfig& config_;
  Session& session_;
  const PictureSet& pictures_;
  PictureProposals proposals_;
  std::vector<Kept> kept_;  // this process's pictures
  TruthPlaces places_;
  RecentPrograms<Network> networks_;
};

}  // namespace lockstep
