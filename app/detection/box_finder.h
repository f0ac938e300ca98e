// SPDX-License-Identifier: Apache-2.0
// Finds boxes in pictures with a detector's current parameters, in several pictures at once.
#pragma once

#include <memory>
#include <vector>

#include "app/detection/found_boxes.h"
#include "app/detection/picture_rounds.h"
#include "graph/passes/predict.h"
#include "lockstep/session.h"

namespace lockstep {

class BoxFinder {
 public:
  // The session's model is the configuration's step for pictures of any size, or a process's part
  // of the step. Each process finds boxes in its own pictures. `config` and `session` must outlive
  // this object.
  BoxFinder(const DetectorConfig& config, Session& session) : config_(config), session_(session) {}

  // Returns the boxes in the order of the list. DATA_LOADER.NUM_THREADS threads read pictures
  // ahead, each padded to its own size. Uses the memory of Session::step() and overwrites its
  // results.
  std::vector<FoundBoxes> find(const PictureList& pictures);

  std::size_t networks_kept() const { return networks_.size(); }

 private:
  struct Network {  // for one padded size
    PictureSize size;
    Predictors predictors;
    std::unique_ptr<Program> program;
  };
  Network& network_for(const PictureSize& size);
  Network made_for(const PictureSize& size) const;
  void look_at(const PictureRounds& rounds, int64_t round, std::span<const Tensor> tensors,
               std::vector<FoundBoxes>& found);

  const DetectorConfig& config_;
  Session& session_;
  std::vector<std::unique_ptr<Network>> networks_;  // most recently used first
};

}  // namespace lockstep
