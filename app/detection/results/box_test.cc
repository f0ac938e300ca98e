// SPDX-License-Identifier: Apache-2.0
#include "app/detection/results/box_test.h"

#include <span>
#include <utility>

#include "app/detection/datasets/keypoint_rules.h"
#include "app/detection/shapes/keypoint_results.h"
#include "app/train/gathered.h"
#include "data/coco/keypoints.h"
#include "lockstep/error.h"
#include "lockstep/processes.h"
#include "models/detection/detector.h"

namespace lockstep {

TestedKinds tested_kinds(const DetectorConfig& config) {
  return {.proposals_only = config.network.model.rpn_only,
          .by_class = config.test.class_specific_ar,
          .masks = has_mask_head(config.network),
          .keypoints = has_keypoint_head(config.network),
          .keypoint_confidence = config.network.krcnn.keypoint_confidence};
}

BoxTest::BoxTest(const DetectorConfig& config, Session& session, const PictureSet& pictures,
                 PictureProposals proposals)
    : config_(config),
      session_(session),
      pictures_(pictures),
      proposals_(std::move(proposals)),
      kinds_(tested_kinds(config)),
      finder_(
          config, session,
          kinds_.keypoints ? keypoint_rules_of(config, pictures.annotations()) : KeypointRules{}) {
  const Annotations& table = pictures.annotations();
  const DetectionModelOptions& model = config.network.model;
  const auto categories = static_cast<int64_t>(table.categories.size());
  check(model.rpn_only || model.num_classes == categories + 1, "MODEL.NUM_CLASSES is ",
        model.num_classes, ", but ", table.path, " has ", categories,
        " categories; with the background, should be ", categories + 1);
}

PictureList BoxTest::own_pictures() {
  const std::vector<CocoImage>& images = pictures_.annotations().images;
  const PictureShare share = share_of_pictures(session_.comm());
  const auto number = [share](std::size_t own) { return share.first + own * share.step; };
  PictureList list;
  for (std::size_t i = share.first; i < images.size(); i += share.step)
    list.sizes.push_back({images[i].height, images[i].width});
  list.read = [this, number](std::size_t own) { return picture_or_blank(number(own)); };
  if (proposals_)
    list.proposals = [this, number](std::size_t own) { return proposals_(number(own)); };
  return list;
}

// Boxes found in a blank picture are dropped.
Image BoxTest::picture_or_blank(std::size_t number) {
  std::string why;
  Image image = lockstep::picture_or_blank(pictures_, number, config_.train.skip_bad_images, why);
  if (!why.empty()) {
    const std::lock_guard lock(mutex_);
    left_out_[number] = std::move(why);
  }
  return image;
}

// On rank 0, also drops the boxes of pictures that other processes could not read.
void BoxTest::drop_left_out(std::vector<FoundBoxes>& found) {
  std::vector<std::string> texts;
  for (const auto& [number, why] : left_out_) texts.push_back(join(number, " ", why));
  left_out_.clear();
  for (const std::string& text :
       gather_once(session_.comm(), texts, "held-out pictures that cannot be read")) {
    const std::size_t space = text.find(' ');
    left_out_[std::stoull(text)] = text.substr(space + 1);
  }
  for (const auto& [number, why] : left_out_) found.at(number).clear();
}

int BoxTest::threads() const { return session_.threads() * session_.model().replicas; }

BoxTestResult BoxTest::test() {
  left_out_.clear();
  const PictureList list = own_pictures();
  std::vector<FoundBoxes> found = finder_.find(list);
  const Annotations& truth = pictures_.annotations();
  if (Comm* comm = session_.comm()) {
    found = gather_boxes(*comm, found, truth.images.size());
    if (comm->rank() > 0) found.resize(truth.images.size());
  }
  if (config_.train.skip_bad_images) drop_left_out(found);
  if (session_.comm() && session_.comm()->rank() > 0) return {};
  if (!left_out_.empty() && left_out_.size() == truth.images.size())
    fail(truth.path, ": none of the ", truth.images.size(),
         " pictures can be read; the last: ", left_out_.rbegin()->second);
  BoxTestResult result =
      left_out_.empty()
          ? scored(std::move(found), truth, kinds_, threads())
          : scored(std::move(found), without_objects_of(truth, left_out_), kinds_, threads());
  result.left_out = left_out_;
  return result;
}

std::vector<std::string> BoxTestResult::left_out_texts() const {
  std::vector<std::string> texts;
  for (const auto& [number, why] : left_out) texts.push_back(why);
  return texts;
}

Annotations without_objects_of(const Annotations& table,
                               const std::map<std::size_t, std::string>& left_out) {
  Annotations rest = table;
  rest.objects.clear();
  for (std::size_t i = 0; i < table.images.size(); ++i) {
    rest.first_object[i] = rest.objects.size();
    if (left_out.count(i) > 0) continue;
    const std::span<const CocoObject> objects = table.objects_of(i);
    rest.objects.insert(rest.objects.end(), objects.begin(), objects.end());
  }
  rest.first_object.back() = rest.objects.size();
  return rest;
}

BoxTestResult scored(std::vector<FoundBoxes> found, const Annotations& truth,
                     const TestedKinds& kinds, int threads) {
  check(found.size() == truth.images.size(), "boxes of ", found.size(), " pictures, but ",
        truth.path, " has ", truth.images.size());
  const std::vector<Detection> detections = detections_of(found);
  BoxTestResult result;
  if (kinds.proposals_only)
    result.proposals =
        ProposalScores{evaluate_proposals(truth, detections, 100, threads, kinds.by_class),
                       evaluate_proposals(truth, detections, 1000, threads, kinds.by_class)};
  else
    result.scores = evaluate_boxes(truth, detections, threads);
  if (result.scores && truth.pascal) result.voc = evaluate_voc(truth, detections, threads);
  if (kinds.masks || kinds.keypoints) {
    FoundShapes shapes = shapes_of(found);
    if (kinds.masks) result.mask_scores = evaluate_masks(truth, detections, shapes.masks, threads);
    shapes.keypoints.resize(detections.size());  // also if nobody found any
    if (kinds.keypoints)
      result.keypoint_scores =
          evaluate_keypoints(truth, detections_of_points(found, kinds.keypoint_confidence),
                             shapes.keypoints, sigmas_of(truth), threads);
  }
  result.found = std::move(found);
  return result;
}

}  // namespace lockstep
