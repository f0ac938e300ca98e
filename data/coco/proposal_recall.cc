// SPDX-License-Identifier: Apache-2.0
// Recall of proposals. Objects and proposals are paired greedily: the pair that overlaps most
// first.
#include <algorithm>
#include <map>
#include <set>
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

constexpr int32_t kAnyCategory = -1;

struct Coverage {
  int32_t category = kAnyCategory;
  std::array<std::vector<double>, kCocoAreas> covered;  // of the category's objects, by area
};

Coverage coverage_by_area(std::span<const CocoObject> all,
                          const std::vector<const Detection*>& proposals, int32_t category) {
  Coverage result{category, {}};
  for (std::size_t area = 0; area < kCocoAreas; ++area) {
    std::vector<const CocoObject*> objects;
    for (const CocoObject& object : all)
      if (!object.crowd && !outside(object.area, kCocoAreaRanges[area]) &&
          (category == kAnyCategory || object.category == category))
        objects.push_back(&object);
    result.covered[area] = coverage(objects, proposals);
  }
  return result;
}

// The coverage of an image's objects: of all together, or of each category.
std::vector<Coverage> coverages(std::span<const CocoObject> all,
                                std::vector<const Detection*> proposals, std::size_t limit,
                                bool by_class) {
  std::stable_sort(proposals.begin(), proposals.end(),
                   [](const Detection* a, const Detection* b) { return a->score > b->score; });
  proposals.resize(std::min(proposals.size(), limit));
  std::set<int32_t> categories;
  for (const CocoObject& object : all) categories.insert(by_class ? object.category : kAnyCategory);
  std::vector<Coverage> result;
  for (const int32_t category : categories)
    result.push_back(coverage_by_area(all, proposals, category));
  return result;
}

double share_of(const std::vector<double>& covered, double wanted) {
  const auto found =
      std::count_if(covered.begin(), covered.end(), [&](double each) { return each >= wanted; });
  return static_cast<double>(found) / static_cast<double>(covered.size());
}

double mean_share_of(const std::vector<double>& covered) {
  double sum = 0;
  for (std::size_t i = 0; i < CocoScores::kOverlaps; ++i)
    sum += share_of(covered, 0.5 + 0.05 * static_cast<double>(i));
  return sum / CocoScores::kOverlaps;
}

}  // namespace

ProposalRecall evaluate_proposals(const Annotations& truth, const std::vector<Detection>& proposals,
                                  int limit, int threads, bool by_class) {
  const std::size_t images = truth.images.size();
  std::vector<std::vector<const Detection*>> of_image(images);
  for (const Detection& proposal : proposals) of_image[proposal.image].push_back(&proposal);
  std::vector<std::vector<Coverage>> covered(images);
  parallel_for(static_cast<int64_t>(images), 1, threads, [&](int64_t begin, int64_t end) {
    for (std::size_t i = begin; i < static_cast<std::size_t>(end); ++i)
      covered[i] = coverages(truth.objects_of(i), std::move(of_image[i]), limit, by_class);
  });
  ProposalRecall result{limit, {}, {}};
  for (std::size_t area = 0; area < kCocoAreas; ++area) {
    std::map<int32_t, std::vector<double>> all;
    for (const std::vector<Coverage>& image : covered)
      for (const Coverage& of : image)
        all[of.category].insert(all[of.category].end(), of.covered[area].begin(),
                                of.covered[area].end());
    std::erase_if(all, [](const auto& of) { return of.second.empty(); });
    result.average[area] = result.at_half[area] = all.empty() ? -1 : 0;
    const auto categories = static_cast<double>(all.size());
    for (const auto& [category, overlaps] : all) {
      result.average[area] += mean_share_of(overlaps) / categories;
      result.at_half[area] += share_of(overlaps, 0.5) / categories;
    }
  }
  return result;
}

}  // namespace lockstep
