// SPDX-License-Identifier: Apache-2.0
#include "app/detection/find/box_finder.h"

#include <algorithm>

#include "app/detection/find/merged_views.h"
#include "app/detection/shapes/keypoint_results.h"
#include "models/detection/detections.h"
#include "models/detection/detector.h"
#include "runtime/finite.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

constexpr std::size_t kNetworksKept = 16;  // for each view
// Pictures whose views are held at once, to be seen in rounds of equal sizes. The candidates of
// means are whole tensors.
constexpr std::size_t kPicturesOfUnions = 64;

const Tensor& predicted(const PredictedTensors& tensors, const char* name) {
  const auto found = tensors.find(name);
  check(found != tensors.end(), "the network predicts no boxes: it has no output '", name, "'");
  return found->second;
}

// Null if the network has no such output: networks that only propose boxes have no classes.
const int64_t* classes_in(const PredictedTensors& tensors) {
  const auto found = tensors.find("classes");
  return found == tensors.end() ? nullptr : found->second.as<int64_t>();
}

// Throws if a parameter is not finite. Operators that choose boxes drop NaN, so a detector with
// such parameters would silently find nothing.
void check_parameters(const Session& session) {
  for (const State& state : session.model().states) {
    if (!is_parameter(state.kind)) continue;
    const Seen seen = states_of(session).see(state.values[0]);
    const int64_t place = first_not_finite(seen.tensor);
    if (place < 0) continue;
    fail("'", state.name, "' is ", text_of_value(seen.tensor, place), " at ",
         text_of_place(seen.tensor.desc.dims, place),
         ": the parameters are damaged, or training has diverged");
  }
}

FoundBoxes boxes_of(const PredictedTensors& tensors, std::size_t picture) {
  const auto* corners = predicted(tensors, "boxes").as<float>();
  const auto* scores = predicted(tensors, "scores").as<float>();
  const int64_t* classes = classes_in(tensors);
  const int64_t count = *predicted(tensors, "count").as<int64_t>();
  FoundBoxes found;
  for (int64_t i = 0; i < count; ++i) {
    FoundBox box;
    std::copy_n(corners + 4 * i, 4, box.corners.begin());
    box.score = scores[i];
    box.kind = classes ? classes[i] : 0;
    check(is_finite(box), "picture ", picture, ": box ", i, " is ", box,
          ": numbers have overflowed, training has diverged");
    found.push_back(box);
  }
  return found;
}

ViewCandidates candidates_in(const PredictedTensors& tensors) {
  const Tensor& scores = predicted(tensors, "scores");
  return {predicted(tensors, "boxes").as<float>(), scores.as<float>(), classes_in(tensors),
          scores.desc.dims[1]};
}

bool finds_shapes(const DetectorOptions& network) {
  return has_mask_head(network) || has_keypoint_head(network);
}

// The graph of boxes leaves masks and points to ShapeFinder.
DetectorConfig with_outputs(const DetectorConfig& config) {
  DetectorConfig predicting = config;
  DetectionTestOptions& test = predicting.network.test;
  test.all_candidates = config.test.bbox_aug.enabled;
  if (finds_shapes(config.network))
    test.predicts =
        ShapeViews(config, {}).one_view_for_all() ? Predicts::boxes_and_maps : Predicts::boxes;
  return predicting;
}

}  // namespace

BoxFinder::BoxFinder(const DetectorConfig& config, Session& session, KeypointRules points)
    : config_(config),
      session_(session),
      views_(views_of(config.test.bbox_aug, "TEST.BBOX_AUG", config.network.test)),
      programs_(with_outputs(config), session, kNetworksKept * views_.size()) {
  if (finds_shapes(config.network))
    shapes_.emplace(config, session, std::move(points), kNetworksKept);
}

std::vector<FoundBoxes> BoxFinder::find(const PictureList& pictures) {
  std::vector<FoundBoxes> found(pictures.sizes.size());
  check_parameters(session_);
  if (pictures.sizes.empty()) return found;
  // Sides that would have no pixel are refused before the first picture is read.
  for (const PictureSize& size : pictures.sizes) {
    for (const ViewRules& rules : views_) View(rules, size);
    if (!shapes_) continue;
    for (const ShapeView& view : shapes_->views().views()) View(view.rules, size);
  }
  if (!shapes_) {
    find_boxes(pictures, found, nullptr);
    return found;
  }
  const ShapeViews& shown = shapes_->views();
  ShapeDrawer drawer(config_, shown.points());
  find_boxes(pictures, found, shown.one_view_for_all() ? &drawer : nullptr);
  if (!shown.one_view_for_all()) shapes_->find_in_views(pictures, found, drawer);
  drawer.finish();
  if (shown.has_points() && config_.network.krcnn.nms_oks)
    for (FoundBoxes& boxes : found) suppress_similar(boxes, shown.points().sigmas);
  return found;
}

// `drawer` draws masks and points as soon as boxes are found; null: somebody else does, or nobody.
void BoxFinder::find_boxes(const PictureList& pictures, std::vector<FoundBoxes>& found,
                           ShapeDrawer* drawer) {
  if (!config_.test.bbox_aug.enabled) return find_results(pictures, found, drawer);
  const bool unites = merge_heuristic(config_.test.bbox_aug.score_heur).unites;
  const std::size_t at_once = unites ? kPicturesOfUnions : session_.model().replicas;
  for (std::size_t first = 0; first < found.size(); first += at_once)
    find_in_views(pictures, first, std::min(first + at_once, found.size()), found);
}

void BoxFinder::find_results(const PictureList& pictures, std::vector<FoundBoxes>& found,
                             ShapeDrawer* drawer) {
  const PictureRounds rounds(config_, pictures,
                             views_of_pictures(pictures, views_, 0, pictures.sizes.size()),
                             session_.model().replicas);
  in_rounds(rounds, programs_, [&](int64_t round, const std::vector<PredictedTensors>& results) {
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::size_t picture = rounds.view(rounds.views(round)[k]).picture;
      found[picture] = boxes_of(results[k], picture);
    }
    if (drawer) shapes_->find_on_maps(rounds, round, results, pictures, found, *drawer);
  });
}

void BoxFinder::find_in_views(const PictureList& pictures, std::size_t first, std::size_t last,
                              std::vector<FoundBoxes>& found) {
  const PictureRounds rounds(config_, pictures, views_of_pictures(pictures, views_, first, last),
                             session_.model().replicas);
  const RefinedAttrs rules = result_rules(config_.network, config_.network.test.score_thresh);
  std::vector<MergedViews> merged(last - first, MergedViews(rules, config_.test.bbox_aug));
  in_rounds(rounds, programs_, [&](int64_t round, const std::vector<PredictedTensors>& results) {
    for (std::size_t k = 0; k < results.size(); ++k) {
      const std::size_t number = rounds.views(round)[k];
      const PictureView& seen = rounds.view(number);
      const bool is_plain = (number + 1) % views_.size() == 0;
      merged[seen.picture - first].add(seen.view, is_plain, candidates_in(results[k]));
    }
  });
  for (std::size_t i = first; i < last; ++i) found[i] = merged[i - first].results();
}

}  // namespace lockstep
