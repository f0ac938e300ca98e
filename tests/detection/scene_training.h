// SPDX-License-Identifier: Apache-2.0
// Trains small detectors of any family on scenes, four pictures a step.
#pragma once

#include "data/detection/batches.h"
#include "lockstep/feeds.h"
#include "lockstep/loader.h"
#include "lockstep/optimizers.h"
#include "runtime/state/session_members.h"
#include "tests/detection/shape_feeds.h"
#include "tests/detection/small_detector.h"

namespace lockstep::testing {

struct SmallFamily {
  std::string name, model;
  std::vector<std::string> words = {};
  bool takes_proposals = false;
};
inline std::ostream& operator<<(std::ostream& out, const SmallFamily& family) {
  return out << family.name;
}

// Boxes around each object, with better and worse overlaps.
inline std::vector<Corners> around_objects(const PictureSet& pictures, std::size_t picture) {
  std::vector<Corners> boxes;
  for (const CocoObject& object : pictures.annotations().objects_of(picture))
    for (float off : {-12.0F, -3.0F, 2.0F, 9.0F}) {
      const auto x = static_cast<float>(object.bbox[0]) + off;
      const auto y = static_cast<float>(object.bbox[1]) - off / 2;
      boxes.push_back(
          {x, y, x + static_cast<float>(object.bbox[2]), y + static_cast<float>(object.bbox[3])});
    }
  return boxes;
}

class SceneTraining {
 public:
  SceneTraining(const SmallFamily& family, int replicas, const std::vector<std::string>& more = {})
      : detector(small_detector_config(family.model, words_of(family, replicas, more))),
        batches_(scenes_, options_of(family, scenes_)),
        loader_(batches_, 1),
        feeds_(detector.model),
        shapes_(detector.model) {}

  // Returns the loss.
  float step(int64_t number) {
    const std::span<const Tensor> batch = loader_.get(number);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::string& name = batches_.forms()[0][i].name;
      feeds_.set(name, batch[i]);
      if (name == "gt_boxes") shapes_.feed(batch[i], feeds_);
    }
    feeds_.set(Role::rate, 2e-4F);  // a network without normalisation
    if (feeds_.has(Role::correction)) feeds_.set(Role::correction, 1);
    return detector.session.run_step(feeds_, static_cast<uint64_t>(number)).loss();
  }

  // Replica 0's, by name.
  StateValues states() const {
    StateValues values;
    for (const State& state : detector.model.states)
      values.emplace(state.name, states_of(detector.session).read(state.values[0]));
    return values;
  }

  SmallDetector detector;

 private:
  static std::vector<std::string> words_of(const SmallFamily& family, int replicas,
                                           const std::vector<std::string>& more) {
    std::vector<std::string> words{"NUM_GPUS",
                                   std::to_string(replicas),
                                   "DEVICES",
                                   join("cpu*", replicas),
                                   "TRAIN.IMS_PER_BATCH",
                                   std::to_string(4 / replicas),
                                   "TRAIN.TRUE_BOXES",
                                   "16",
                                   "TRAIN.PROPOSALS",
                                   "40"};
    words.insert(words.end(), family.words.begin(), family.words.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static DetectionBatchOptions options_of(const SmallFamily& family, const PictureSet& scenes) {
    DetectionBatchOptions options{.batch = 4, .scales = {96}, .places = 16, .fixed = {96, 128}};
    if (family.takes_proposals) {
      options.proposals = [&scenes](std::size_t picture) {
        return around_objects(scenes, picture);
      };
      options.proposal_places = 40;
    }
    return options;
  }

  ScenePictures scenes_{{.count = 30}};
  DetectionBatches batches_;
  Loader loader_;
  Feeds feeds_;
  ShapeFeeds shapes_;
};

// The largest difference of two runs' states.
inline double difference(const StateValues& a, const StateValues& b) {
  double most = 0;
  for (const auto& [name, value] : a) {
    const auto mine = value.values<float>(), other = b.at(name).values<float>();
    for (std::size_t i = 0; i < mine.size(); ++i)
      most = std::max(most, static_cast<double>(std::abs(mine[i] - other[i])));
  }
  return most;
}

}  // namespace lockstep::testing
