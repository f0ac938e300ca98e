// SPDX-License-Identifier: Apache-2.0
// The test of a detector on annotated pictures: of its boxes, masks and keypoints.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/detection/find/box_finder.h"
#include "data/coco/evaluation.h"
#include "data/detection/picture_set.h"
#include "data/voc/scores.h"

namespace lockstep {

struct ProposalScores {
  ProposalRecall at_100, at_1000;
};

// The kinds of results that a test scores and writes.
struct TestedKinds {
  bool proposals_only = false;  // of an RPN alone
  bool by_class = false;        // TEST.CLASS_SPECIFIC_AR, of proposals
  bool masks = false, keypoints = false;
  std::string keypoint_confidence = "bbox";  // KRCNN.KEYPOINT_CONFIDENCE
};
TestedKinds tested_kinds(const DetectorConfig& config);

struct BoxTestResult {
  std::vector<FoundBoxes> found;     // by picture
  std::optional<CocoScores> scores;  // of a detector's boxes
  std::optional<CocoScores> mask_scores = {}, keypoint_scores = {};
  std::optional<VocScores> voc = {};        // of a detector, on a set of Pascal VOC
  std::optional<ProposalScores> proposals;  // of an RPN alone
  // Pictures that cannot be read, with the reason; the scores leave them out.
  std::map<std::size_t, std::string> left_out = {};

  std::vector<std::string> left_out_texts() const;
};

class BoxTest {
 public:
  // All replicas of all processes divide the pictures; all processes make the same calls.
  // `proposals` gives the proposals of a picture to a network without an RPN. `config`, `session`
  // and `pictures` must outlive this object.
  BoxTest(const DetectorConfig& config, Session& session, const PictureSet& pictures,
          PictureProposals proposals = {});

  // Tests with the current parameters. With several processes only rank 0 gets a result; other
  // ranks get an empty result. The result does not depend on the number of replicas, reading
  // threads and processes. As in any plan, it may depend on the threads of a replica
  // (docs/execution.md).
  BoxTestResult test();

 private:
  PictureList own_pictures();
  Image picture_or_blank(std::size_t number);
  void drop_left_out(std::vector<FoundBoxes>& found);
  int threads() const;

  const DetectorConfig& config_;
  Session& session_;
  const PictureSet& pictures_;
  PictureProposals proposals_;
  TestedKinds kinds_;
  BoxFinder finder_;
  std::mutex mutex_;
  std::map<std::size_t, std::string> left_out_;  // by a picture's number
};

// The annotations of a test that leaves out pictures: left-out pictures have no objects.
Annotations without_objects_of(const Annotations& table,
                               const std::map<std::size_t, std::string>& left_out);

// Scores boxes, masks and keypoints. A detector's boxes have classes, the boxes of an RPN alone
// have none.
BoxTestResult scored(std::vector<FoundBoxes> found, const Annotations& truth,
                     const TestedKinds& kinds, int threads);

// The paths that write_found() writes. Throws if the set's name cannot be part of a file name.
std::vector<std::string> found_paths(const std::string& folder, const std::string& set,
                                     const TestedKinds& kinds);
// Writes the objects found in the data set `set` into the folder, in COCO's form:
// bbox_SET_results.json, segmentations_SET_results.json and keypoints_SET_results.json; or
// proposals.safetensors. Returns the paths.
std::vector<std::string> write_found(const std::string& folder, const std::string& set,
                                     const Annotations& of, const BoxTestResult& result,
                                     const TestedKinds& kinds);

}  // namespace lockstep
