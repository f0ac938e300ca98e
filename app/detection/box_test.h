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
  std::optional<CocoScores> scores;         // of a detector,
  std::optional<ProposalScores> proposals;  // or of an RPN alone
  // Pictures that cannot be read, and why; the scores are those of the others.
  std::map<std::size_t, std::string> left_out = {};

  std::vector<std::string> left_out_texts() const;
};

class BoxTest {
 public:
  // All replicas of all processes share the pictures; all processes make the same calls.
  // `proposals`: of a picture of the set, for a network without an RPN. The others must outlive
  // this.
  BoxTest(const DetectorConfig& config, Session& session, const PictureSet& pictures,
          PictureProposals proposals = {});

  // With the current parameters. With several processes the result is rank 0's, and empty on
  // others. It does not depend on the number of replicas, reading threads and processes; on the
  // threads of a replica as any plan does (docs/execution.md).
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

// The annotations of a test in which pictures are left out: such pictures have no objects.
Annotations without_objects_of(const Annotations& table,
                               const std::map<std::size_t, std::string>& left_out);

// The scores of boxes, of which a detector's have classes and those of an RPN alone have none.
BoxTestResult scored(std::vector<FoundBoxes> found, const Annotations& truth, bool proposals_only,
                     int threads);

// Where write_found() writes. Throws for a name that cannot be part of a file's.
std::string found_path(const std::string& folder, const std::string& set, bool proposals_only);
// Writes what was found in the set of that name into the folder: bbox_SET_results.json in COCO's
// form, or proposals.safetensors. Returns the path.
std::string write_found(const std::string& folder, const std::string& set, const Annotations& of,
                        const BoxTestResult& result);

}  // namespace lockstep
