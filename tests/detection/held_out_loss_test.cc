// SPDX-License-Identifier: Apache-2.0
// The losses on held-out pictures are a training step's, for any number of replicas; pictures
// without objects are background.
#include "app/detection/train/held_out_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/detection/batches.h"
#include "lockstep/feeds.h"
#include "lockstep/operators.h"
#include "tests/detection/scene_training.h"
#include "tests/support/expect_error.h"
#include "tests/support/ranks.h"

namespace lockstep::testing {
namespace {

// Some pictures of a set, without their objects if wished.
class SomePictures final : public PictureSet {
 public:
  SomePictures(const PictureSet& all, std::vector<std::size_t> numbers, bool objects = true)
      : all_(all), numbers_(std::move(numbers)) {
    table_.path = all.annotations().path;
    table_.categories = all.annotations().categories;
    table_.first_object.push_back(0);
    for (std::size_t number : numbers_) {
      for (CocoObject object : all.annotations().objects_of(number)) {
        object.image = static_cast<int32_t>(table_.images.size());
        if (objects) table_.objects.push_back(object);
      }
      table_.images.push_back(all.annotations().images[number]);
      table_.first_object.push_back(table_.objects.size());
    }
  }
  const Annotations& annotations() const override { return table_; }
  Image picture(std::size_t number) const override {
    check(number != bad, "picture ", number, " is bad");
    return all_.picture(numbers_[number]);
  }

  std::size_t bad = 1000;

 private:
  const PictureSet& all_;
  std::vector<std::size_t> numbers_;
  Annotations table_;
};

NamedNumbers losses_of(const std::string& model, const std::vector<std::string>& words,
                       const PictureSet& pictures) {
  SmallDetector detector(small_detector_config(model, words));
  return HeldOutLoss(detector.config, detector.session, pictures).losses();
}

double number_of(const NamedNumbers& numbers, const std::string& name) {
  for (const auto& [known, number] : numbers)
    if (known == name) return number;
  ADD_FAILURE() << "there is no " << name;
  return 0;
}

double sum_of_terms(const NamedNumbers& numbers, const std::string& start) {
  double sum = 0;
  for (const auto& [name, number] : numbers)
    if (name.starts_with(start)) sum += number;
  return sum;
}

// DEDUP_BOXES, here Detectron's 1/16, moves proposals in tests alone.
TEST(HeldOutLoss, IsTheLossOfATrainingStep) {
  const ScenePictures scenes({.count = 10});
  for (const std::string& model : {kSmallFaster, kSmallFast, kSmallRpn, kSmallRetinaNet}) {
    const DetectorConfig config = small_detector_config(model, {"TRAIN.PROPOSALS", "40"});
    EXPECT_EQ(config.dedup_boxes, 0.0625);
    const TrainingModel step = detector_step(config, {96, 96});
    Session session(step, config.run.devices.list, all_kernels(), {.seed = 3, .threads = 1});
    session.initialise();
    for (std::size_t number : {1, 4}) {
      const SomePictures one(scenes, {number});
      DetectionBatchOptions options;
      options.batch = 1;
      options.scales = {96};
      options.longest = 160;
      options.places = config.network.shape.true_boxes;
      options.mirrored = false;
      PictureProposals proposals;
      if (model == kSmallFast)
        proposals = [&one](std::size_t picture) { return around_objects(one, picture); };
      options.proposals = proposals;
      options.proposal_places = config.network.shape.proposals;
      const DetectionBatches batches(one, options);
      std::vector<Literal> read;
      std::vector<Tensor> tensors;
      for (const NamedDesc& each : batches.forms()[0])
        read.emplace_back(each.desc.dtype, each.desc.dims);
      for (Literal& literal : read) tensors.push_back(view_of(literal));
      batches.read(0, 0, tensors);
      const NamedNumbers held_out = HeldOutLoss(config, session, one, proposals).losses();
      Feeds feeds(step);
      for (std::size_t i = 0; i < tensors.size(); ++i)
        feeds.set(batches.forms()[0][i].name, tensors[i]);
      feeds.set(Role::rate, 0.0F);  // the parameters stay
      if (feeds.has(Role::correction)) feeds.set(Role::correction, 1);
      const auto fetched = session.step().run(feeds.tensors(), session.run_options(0));
      double sum = 0;
      for (std::size_t i = 0; i < step.losses.size(); ++i) {
        const double trained = *fetched[i].as<float>();
        EXPECT_FLOAT_EQ(static_cast<float>(number_of(held_out, step.losses[i].name)),
                        static_cast<float>(trained))
            << step.losses[i].name;
        sum += trained;
      }
      EXPECT_NEAR(number_of(held_out, "loss"), sum, 1e-6 * sum);
    }
  }
}

// After a step that hardly moves the averages, the losses of the averages are the losses before the
// step.
TEST(HeldOutLoss, ReadsTheMovingAverages) {
  const ScenePictures scenes({.count = 3});
  const SomePictures one(scenes, {1});
  for (const bool averages : {false, true}) {
    const DetectorConfig config =
        small_detector_config(kSmallRpn, {"TRAIN.EMA", averages ? "0.999999" : "0"});
    const TrainingModel step = detector_step(config, {96, 96});
    Session session(step, config.run.devices.list, all_kernels(), {.seed = 3, .threads = 1});
    session.initialise();
    const double before = number_of(HeldOutLoss(config, session, one).losses(), "loss");
    DetectionBatchOptions options;
    options.batch = 1;
    options.scales = {96};
    options.longest = 160;
    options.places = config.network.shape.true_boxes;
    const DetectionBatches batches(one, options);
    std::vector<Literal> read;
    std::vector<Tensor> tensors;
    for (const NamedDesc& each : batches.forms()[0])
      read.emplace_back(each.desc.dtype, each.desc.dims);
    for (Literal& literal : read) tensors.push_back(view_of(literal));
    batches.read(0, 0, tensors);
    Feeds feeds(step);
    for (std::size_t i = 0; i < tensors.size(); ++i)
      feeds.set(batches.forms()[0][i].name, tensors[i]);
    feeds.set(Role::rate, 0.05F);
    if (feeds.has(Role::correction)) feeds.set(Role::correction, 1);
    session.step().run(feeds.tensors(), session.run_options(0));
    const double after = number_of(HeldOutLoss(config, session, one).losses(), "loss");
    if (averages)
      EXPECT_NEAR(after, before, 1e-4 * before);
    else
      EXPECT_GT(std::abs(after - before), 1e-3 * before);
  }
}

TEST(HeldOutLoss, IsTheSameForAnyReplicasAndProcesses) {
  const CutScenes pictures(9);
  for (const std::string& model : {kSmallFaster, kSmallRetinaNet}) {
    const NamedNumbers expected = losses_of(model, {}, pictures);
    EXPECT_GT(number_of(expected, "loss"), 0);
    for (const char* devices : {"cpu*2", "cpu*3"}) {
      const NamedNumbers several = losses_of(
          model,
          {"DEVICES", devices, "TRAIN.IMS_PER_BATCH", "2", "TRAIN.SHARED_NORMALISERS", "True"},
          pictures);
      EXPECT_EQ(several, expected) << devices;
    }
    SmallDetector again(small_detector_config(model));
    HeldOutLoss loss(again.config, again.session, pictures);
    EXPECT_EQ(loss.losses(), expected);
    EXPECT_EQ(loss.losses(), expected) << "each test draws alike";
    run_ranks(2, [&](Comm& comm) {
      SmallDetector part(small_detector_config(model, {"DEVICES", "cpu*2"}, 2), &comm);
      const NamedNumbers result = HeldOutLoss(part.config, part.session, pictures).losses();
      ASSERT_EQ(result.size(), comm.rank() > 0 ? 0 : expected.size());
      for (std::size_t i = 0; i < result.size(); ++i) {
        EXPECT_EQ(result[i].first, expected[i].first);
        EXPECT_NEAR(result[i].second, expected[i].second, 1e-9 * expected[i].second);
      }
    });
  }
}

TEST(HeldOutLoss, LeavesOutPicturesThatCannotBeRead) {
  const CutScenes scenes(6);
  SomePictures pictures(scenes, {0, 1, 2, 3, 4, 5}), rest(scenes, {0, 1, 3, 4, 5});
  pictures.bad = 2;
  expect_error([&] { losses_of(kSmallFaster, {}, pictures); }, "picture 2 is bad",
               "TRAIN.SKIP_BAD_IMAGES true leaves it out of the test");
  const NamedNumbers skipped = losses_of(kSmallRpn, {"TRAIN.SKIP_BAD_IMAGES", "True"}, pictures);
  EXPECT_GT(number_of(skipped, "loss"), 0);
  EXPECT_TRUE(std::isfinite(number_of(skipped, "loss")));
}

// The losses of a detector whose last layer of classes has no weights, only its first bias.
NamedNumbers losses_without_weights(const std::string& model, const std::string& layer,
                                    const PictureSet& pictures) {
  SmallDetector detector(small_detector_config(model, {"TRAIN.EMPTY_IMAGES", "True"}));
  for (const State& state : detector.model.states)
    if (state.name.starts_with(layer) && state.name.ends_with("_w")) {
      const Literal now = detector.session.read(state.values[0]);
      detector.session.write(state.values[0], Literal(now.dtype(), now.dims()));
    }
  return HeldOutLoss(detector.config, detector.session, pictures).losses();
}

// Without objects everything sampled is background. Without weights each class has the same
// probability. Detectron divides by the samples, or for RetinaNet by 1.
TEST(HeldOutLoss, OfPicturesWithoutObjectsIsBackgroundAlone) {
  const ScenePictures scenes({.count = 6});
  const SomePictures none(scenes, {0, 1, 2}, false);
  EXPECT_TRUE(losses_of(kSmallFaster, {}, none).empty()) << "training would not use these pictures";
  const NamedNumbers faster = losses_without_weights(kSmallFaster, "cls_score", none);
  EXPECT_NEAR(number_of(faster, "loss_cls"), std::log(5), 1e-6);
  EXPECT_EQ(number_of(faster, "loss_bbox"), 0);
  const NamedNumbers rpn = losses_without_weights(kSmallRpn, "rpn_cls_logits", none);
  EXPECT_NEAR(sum_of_terms(rpn, "loss_rpn_cls"), std::log(2), 1e-6);
  EXPECT_EQ(sum_of_terms(rpn, "loss_rpn_bbox"), 0);
  // The prior makes each class 0.01 probable: a whole number of equal losses.
  const NamedNumbers dense = losses_without_weights(kSmallRetinaNet, "retnet_cls_pred", none);
  EXPECT_EQ(sum_of_terms(dense, "retnet_loss_bbox"), 0);
  const double of_each = 4 * 0.75 * 0.01 * 0.01 * -std::log(0.99);
  const double anchors = sum_of_terms(dense, "fl_") / of_each;
  EXPECT_NEAR(anchors, std::round(anchors), 0.1);
  EXPECT_GT(anchors, 100);
}

// A step on pictures without objects trains towards background, and stays finite.
TEST(HeldOutLoss, OfPicturesWithoutObjectsCanBeTrained) {
  const ScenePictures scenes({.count = 6});
  for (const std::string& model : {kSmallFaster, kSmallRetinaNet}) {
    const DetectorConfig config = small_detector_config(model, {"TRAIN.EMPTY_IMAGES", "True"});
    const TrainingModel step = detector_step(config, {96, 96});
    Session session(step, config.run.devices.list, all_kernels(), {.seed = 3, .threads = 1});
    session.initialise();
    const SomePictures none(scenes, {0}, false);
    HeldOutLoss held_out(config, session, none);
    const double before = number_of(held_out.losses(), "loss");
    const int64_t places = config.network.shape.true_boxes;
    Literal data(DType::float32, {1, 3, 96, 96}), boxes(DType::float32, {1, places, 4});
    Literal classes(DType::int64, {1, places}), crowd(DType::int64, {1, places});
    Literal number = Literal::vector({0});
    const std::vector<float> extent{96, 96, 0.75F};
    Literal info = Literal::of<float>(extent, {1, 3});
    std::fill_n(view_of(data).as<float>(), 3 * 96 * 96, 20.0F);
    Feeds feeds(step);
    for (const auto& [name, literal] : {std::pair{"data", &data},
                                        {"im_info", &info},
                                        {"image_number", &number},
                                        {"gt_boxes", &boxes},
                                        {"gt_classes", &classes},
                                        {"gt_crowd", &crowd}})
      feeds.set(name, view_of(*literal));
    feeds.set(Role::rate, 1e-3F);
    if (feeds.has(Role::correction)) feeds.set(Role::correction, 1);
    for (uint64_t i = 0; i < 5; ++i) session.run_step(feeds, i);
    const double after = number_of(held_out.losses(), "loss");
    EXPECT_TRUE(std::isfinite(after)) << model;
    EXPECT_LT(after, before) << model;
  }
}

}  // namespace
}  // namespace lockstep::testing
