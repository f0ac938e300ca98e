// SPDX-License-Identifier: Apache-2.0
// The test of a detector on annotated pictures.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/detection/box_finder.h"
#include "data/coco/evaluation.h"
#include "data/detection/picture_set.h"

namespace lockstep {

struct ProposalScores {
  ProposalRecall at_100, at_1000;
};

struct BoxTestResult {
  std::vector<FoundBoxes> found;            // by picture
  std::optional<CocoScores> scores;         // of a detector
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
  BoxFinder finder_;
  std::mutex mutex_;
  std::map<std::size_t, std::string> left_out_;  // by a picture's number
};

// The annotations of a test that leaves out pictures: left-out pictures have no objects.
Annotations without_objects_of(const Annotations& table,
                               const std::map<std::size_t, std::string>& left_out);

// Scores boxes. A detector's boxes have classes, the boxes of an RPN alone have none.
BoxTestResult scored(std::vector<FoundBoxes> found, const Annotations& truth, bool proposals_only,
                     int threads);

// The path that write_found() writes. Throws if the set's name cannot be part of a file name.
std::string found_path(const std::string& folder, const std::string& set, bool proposals_only);
// Writes the boxes found in the data set `set` into the folder: bbox_SET_results.json in COCO's
// form, or proposals.safetensors. Returns the path.
std::string write_found(const std::string& folder, const std::string& set, const Annotations& of,
                        const BoxTestResult& result);

}  // namespace lockstep
