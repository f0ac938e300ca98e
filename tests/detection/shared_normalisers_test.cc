// SPDX-License-Identifier: Apache-2.0
// TRAIN.SHARED_NORMALISERS: the loss is the loss of the whole batch for any division among
// replicas.
#include <gtest/gtest.h>

#include <cmath>

#include "data/detection/batches.h"
#include "lockstep/feeds.h"
#include "lockstep/loader.h"
#include "lockstep/optimizers.h"
#include "runtime/state/session_members.h"
#include "tests/detection/small_detector.h"

namespace lockstep::testing {
namespace {

// Boxes around each object, with better and worse overlaps.
std::vector<Corners> around_objects(const PictureSet& pictures, std::size_t picture) {
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

struct Trained {
  std::vector<float> losses;
  StateValues states;  // replica 0's, by name
};

// Four pictures a step.
Trained trained(const std::string& network, int replicas, int steps, bool shared) {
  const DetectorConfig config = small_detector_config(
      network, {"NUM_GPUS", std::to_string(replicas), "DEVICES", join("cpu*", replicas),
                "TRAIN.IMS_PER_BATCH", std::to_string(4 / replicas), "TRAIN.TRUE_BOXES", "16",
                "TRAIN.PROPOSALS", "40", "TRAIN.SHARED_NORMALISERS", shared ? "true" : "false"});
  SmallDetector detector(config);
  const ScenePictures scenes({.count = 30});
  DetectionBatchOptions options{.batch = 4, .scales = {96}, .places = 16, .fixed = {96, 128}};
  if (network == kSmallFast) {
    options.proposals = [&](std::size_t picture) { return around_objects(scenes, picture); };
    options.proposal_places = 40;
  }
  const DetectionBatches batches(scenes, options);
  Loader loader(batches, 1);
  Feeds feeds(detector.model);
  Trained result;
  for (int step = 0; step < steps; ++step) {
    const std::span<const Tensor> batch = loader.get(step);
    for (std::size_t i = 0; i < batch.size(); ++i) feeds.set(batches.forms()[0][i].name, batch[i]);
    feeds.set(Role::rate, 2e-4F);  // a network without normalisation
    if (feeds.has(Role::correction)) feeds.set(Role::correction, 1);
    result.losses.push_back(detector.session.run_step(feeds, static_cast<uint64_t>(step)).loss());
  }
  for (const State& state : detector.model.states)
    result.states.emplace(state.name, states_of(detector.session).read(state.values[0]));
  return result;
}

double difference(const StateValues& a, const StateValues& b) {
  double most = 0;
  for (const auto& [name, value] : a) {
    const auto mine = value.values<float>(), other = b.at(name).values<float>();
    for (std::size_t i = 0; i < mine.size(); ++i)
      most = std::max(most, static_cast<double>(std::abs(mine[i] - other[i])));
  }
  return most;
}

TEST(SharedNormalisers, OneReplicaWithFourPicturesTrainsAsTwoWithTwo) {
  for (const std::string& network : {kSmallRetinaNet, kSmallFast}) {
    SCOPED_TRACE(network);
    const Trained one = trained(network, 1, 10, true), two = trained(network, 2, 10, true);
    for (std::size_t step = 0; step < one.losses.size(); ++step)
      EXPECT_NEAR(one.losses[step], two.losses[step], 1e-5 * std::abs(one.losses[step])) << step;
    EXPECT_LT(difference(one.states, two.states), 1e-5);
    // The replicas in these steps have different numbers of objects.
    EXPECT_GT(difference(one.states, trained(network, 2, 10, false).states), 5e-5);
  }
}

// After a step, proposals differ by rounding, and the samples differ as a result.
TEST(SharedNormalisers, FasterRcnnAgreesInItsFirstStep) {
  const Trained one = trained(kSmallFaster, 1, 1, true), two = trained(kSmallFaster, 2, 1, true);
  EXPECT_NEAR(one.losses[0], two.losses[0], 1e-5 * one.losses[0]);
  EXPECT_LT(difference(one.states, two.states), 1e-5);
}

// With one replica the key changes only the rounding.
TEST(SharedNormalisers, OfOneReplicaAreItsOwn) {
  const Trained shared = trained(kSmallRetinaNet, 1, 3, true);
  const Trained own = trained(kSmallRetinaNet, 1, 3, false);
  EXPECT_LT(difference(shared.states, own.states), 1e-6);
}

}  // namespace
}  // namespace lockstep::testing
