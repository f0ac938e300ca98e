// SPDX-License-Identifier: Apache-2.0
// The files of the objects that a test found.
#include "app/detection/datasets/proposal_file.h"
#include "app/detection/results/box_test.h"
#include "app/detection/shapes/keypoint_results.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::string path_of_results(const std::string& folder, const char* kind, const std::string& set) {
  check(set.find('/') == set.npos, "the data set '", set,
        "' cannot be part of a file's name: it contains a /");
  return join(folder, "/", kind, "_", set, "_results.json");
}

}  // namespace

std::vector<std::string> found_paths(const std::string& folder, const std::string& set,
                                     const TestedKinds& kinds) {
  if (kinds.proposals_only) return {folder + "/proposals.safetensors"};
  std::vector<std::string> paths{path_of_results(folder, "bbox", set)};
  if (kinds.masks) paths.push_back(path_of_results(folder, "segmentations", set));
  if (kinds.keypoints) paths.push_back(path_of_results(folder, "keypoints", set));
  return paths;
}

std::vector<std::string> write_found(const std::string& folder, const std::string& set,
                                     const Annotations& of, const BoxTestResult& result,
                                     const TestedKinds& kinds) {
  std::vector<std::string> paths = found_paths(folder, set, kinds);
  auto path = paths.begin();
  if (kinds.proposals_only) {
    write_proposals(*path, set, of, result.found);
    return paths;
  }
  const std::vector<Detection> detections = detections_of(result.found);
  write_results(*path++, of, detections);
  if (!kinds.masks && !kinds.keypoints) return paths;
  FoundShapes shapes = shapes_of(result.found);
  if (kinds.masks) write_masks(*path++, of, detections, shapes.masks);
  shapes.keypoints.resize(detections.size());  // also if nobody found any
  if (kinds.keypoints)
    write_keypoints(*path, of, detections_of_points(result.found, kinds.keypoint_confidence),
                    shapes.keypoints);
  return paths;
}

}  // namespace lockstep
