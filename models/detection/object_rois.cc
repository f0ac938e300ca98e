// SPDX-License-Identifier: Apache-2.0
#include "models/detection/object_rois.h"

#include "builders/detection/losses.h"
#include "lockstep/operators.h"
#include "models/detection/roi_sampling.h"

namespace lockstep {
namespace {

int64_t most_objects(const DetectionTrainOptions& train) {
  const int64_t objects = foreground_rois(train);
  check(objects > 0, "TRAIN.FG_FRACTION ", train.fg_fraction, " of TRAIN.BATCH_SIZE_PER_IM ",
        train.batch_size_per_im, " leaves no RoI from which masks and keypoints could be learnt");
  return objects;
}

// The true boxes of crowd regions and of objects with a labelled point.
TrueBoxes boxes_with_points(Graph& graph, const DetectorInputs& in) {
  const auto named = [](const char* ending) { return join("gt_with_points", ending); };
  const auto real = [&](Value x, const char* ending) {
    return cast(graph, x, DType::float32, named(ending));
  };
  const Value visibility = slice(graph, in.shapes.keypoints, 3, 2, 3, named("_visibility"));
  const Value points = reduce_sum(graph, visibility, {2, 3}, false, named("_sum"));
  const Value kept = clip(graph, add(graph, points, real(in.truth.crowd, "_crowd"), named("_both")),
                          0, 1, named("_kept"));
  const Value classes = mul(graph, real(in.truth.classes, "_all"), kept, named("_classes"));
  return {in.truth.boxes, cast(graph, classes, DType::int64, named("")), in.truth.crowd};
}

}  // namespace

ObjectRois objects_among(Graph& graph, const DetectionTrainOptions& train,
                         const SampledProposals& sample, Value im_info) {
  const int64_t objects = most_objects(train);
  const auto first = [&](Value x, const char* name) {
    return slice(graph, x, 1, 0, objects, name);
  };
  return {PictureBoxes(first(sample.rois, "rois_of_objects")),
          first(sample.labels, "roi_classes_of_objects"),
          first(sample.matches, "roi_matches_of_objects"), im_info};
}

ObjectRois objects_with_points(Graph& graph, const DetectorOptions& options,
                               const Proposals& proposals, const DetectorInputs& in) {
  ProposalTargetsAttrs attrs = roi_sampling(options);
  attrs.sample = attrs.foreground = most_objects(options.train);
  attrs.background_low = attrs.background_high = 0;  // no background is drawn
  attrs.box_overlap = 0;                             // no box is learnt
  const SampledProposals sample =
      proposal_targets(graph, proposals.boxes.value, proposals.sources,
                       boxes_with_points(graph, in), in.image_number, attrs, "rois_with_points");
  return {PictureBoxes(sample.rois), sample.labels, sample.matches, in.im_info};
}

Value rows_of_first_places(Graph& graph, Value x, int64_t images, int64_t count,
                           const std::string& name) {
  std::vector<int64_t> dims = to_dims(graph.shape(x));
  dims[0] /= images;
  dims.insert(dims.begin(), images);
  const Value by_image = reshape(graph, x, dims, name + "_images");
  dims.erase(dims.begin());
  dims[0] = images * count;
  return reshape(graph, slice(graph, by_image, 1, 0, count, name + "_first"), dims, name);
}

Value filled_places(Graph& graph, Value classes, std::size_t rank, const std::string& name) {
  std::vector<int64_t> dims{0, 0};
  dims.resize(rank, 1);
  return reshape(graph, is_object(graph, classes, name + "_places"), dims, name);
}

Initializer fill_named(const std::string& fill, float deviation) {
  return fill == "MSRAFill" ? msra() : gaussian(deviation);
}

}  // namespace lockstep
