// SPDX-License-Identifier: Apache-2.0
// Recall of proposals. Objects and proposals are paired greedily: the pair that overlaps most
// first.
#include <algorithm>
#include <span>

#include "data/coco/evaluation.h"
#include "data/coco/overlap.h"
#include "runtime/threads/parallel.h"

namespace lockstep {
namespace {

// The overlap of each object with its own proposal; 0 for objects without a proposal.
std::vector<double> coverage(const std::vector<const CocoObject*>& objects,
                             const std::vector<const Detection*>& proposals) {
  std::vector<double> overlaps;  // object by object
  for (const CocoObject* object : objects)
    for (const Detection* proposal : proposals)
      overlaps.push_back(overlap(proposal->bbox, object->bbox, false));
  std::vector<double> covered(objects.size(), 0);
  const std::size_t width = proposals.size();
  for (std::size_t pair = 0; pair < std::min(objects.size(), width); ++pair) {
    const auto best = std::max_element(overlaps.begin(), overlaps.end());
    const std::size_t place = best - overlaps.begin();
    const std::size_t object = place / width, proposal = place % width;
    covered[object] = *best;
    for (std::size_t p = 0; p < width; ++p) overlaps[object * width + p] = -1;
    for (std::size_t o = 0; o < objects.size(); ++o) overlaps[o * width + proposal] = -1;
  }
  return covered;
}

using Coverage = std::array<std::vector<double>, kCocoAreas>;

// The coverage of an image's objects, by area.
Coverage coverage_by_area(std::span<const CocoObject> all, std::vector<const Detection*> proposals,
                          std::size_t limit) {
  std::stable_sort(proposals.begin(), proposals.end(),
                   [](const Detection* a, const Detection* b) { return a->score > b->score; });
  proposals.resize(std::min(proposals.size(), limit));
  Coverage covered;
  for (std::size_t area = 0; area < kCocoAreas; ++area) {
    std::vector<const CocoObject*> objects;
    for (const CocoObject& object : all)
      if (!object.crowd && !outside(object.area, area)) objects.push_back(&object);
    covered[area] = coverage(objects, proposals);
  }
  return covered;
}

double share_of(const std::vector<double>& covered, double wanted) {
  const auto found =
      std::count_if(covered.begin(), covered.end(), [&](double each) { return each >= wanted; });
  return static_cast<double>(found) / static_cast<double>(covered.size());
}

}  // namespace

ProposalRecall evaluate_proposals(const Annotations& truth, const std::vector<Detection>& proposals,
                                  int limit, int threads) {
  const std::size_t images = truth.images.size();
  std::vector<std::vector<const Detection*>> of_image(images);
  for (const Detection& proposal : proposals) of_image[proposal.image].push_back(&proposal);
  std::vector<Coverage> covered(images);
  parallel_for(static_cast<int64_t>(images), 1, threads, [&](int64_t begin, int64_t end) {
    for (std::size_t i = begin; i < static_cast<std::size_t>(end); ++i)
      covered[i] = coverage_by_area(truth.objects_of(i), std::move(of_image[i]), limit);
  });
  ProposalRecall result{limit, {}, {}};
  for (std::size_t area = 0; area < kCocoAreas; ++area) {
    std::vector<double> all;
    for (const Coverage& of : covered) all.insert(all.end(), of[area].begin(), of[area].end());
    result.average[area] = result.at_half[area] = -1;
    if (all.empty()) continue;
    double sum = 0;
    for (std::size_t i = 0; i < CocoScores::kOverlaps; ++i)
      sum += share_of(all, 0.5 + 0.05 * static_cast<double>(i));
    result.average[area] = sum / CocoScores::kOverlaps;
    result.at_half[area] = share_of(all, 0.5);
  }
  return result;
}

}  // namespace lockstep
