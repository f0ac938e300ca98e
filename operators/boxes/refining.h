// SPDX-License-Identifier: Apache-2.0
// The rules of soft suppression (Bodla 2017) and of box voting (Gidaris 2015): a table each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "operators/boxes/boxes.h"

namespace lockstep {

// The factor of a score whose box overlaps a better box.
struct SuppressionMethod {
  const char* name;
  float (*factor)(float iou, float threshold, float sigma);
};
const std::vector<SuppressionMethod>& suppression_methods();
// Throws for an unknown name, and lists the known ones.
const SuppressionMethod& suppression_method(const std::string& name);

// A candidate that overlaps a result enough to change it.
struct Vote {
  float score, iou;
};
// The new score of a result with the score `own`. There is at least one vote.
struct VoteScoring {
  const char* name;
  double (*score)(float own, std::span<const Vote> votes, double beta);
  bool divides_by_beta = false;
};
const std::vector<VoteScoring>& vote_scorings();
const VoteScoring& vote_scoring(const std::string& name);

std::vector<std::string> names_of_suppression_methods();
std::vector<std::string> names_of_vote_scorings();

// The results of an image, found by the attributes.
class RefinedResults {
 public:
  // Soft suppression drops a score that it lowers below this number.
  static constexpr float kLeastScore = 1e-4F;

  RefinedResults(const RefinedAttrs& attrs, int64_t candidates);

  // The bytes of memory that run() needs.
  std::size_t bytes() const;

  struct To {
    float *boxes, *scores;  // [capacity, 4] and [capacity]
    int64_t* classes;       // [capacity]
  };
  // `classes` may be null, as in detection_results(). Fills empty slots with zeros. Returns the
  // number of results.
  int64_t run(const float* boxes, const float* scores, const int64_t* classes, const To& to,
              std::byte* memory) const;

 private:
  RefinedAttrs attrs_;
  const SuppressionMethod* method_;
  const VoteScoring* scoring_;  // null: no voting
  int64_t candidates_;
};

}  // namespace lockstep
