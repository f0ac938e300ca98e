// SPDX-License-Identifier: Apache-2.0
#include "operators/boxes/refining.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "graph/listed.h"
#include "lockstep/error.h"
#include "operators/boxes/kept_boxes.h"
#include "operators/kit/sort_key.h"

namespace lockstep {
namespace {

// -- the factors of soft suppression

float hard_factor(float iou, float threshold, float /*sigma*/) {
  return iou > threshold ? 0.0F : 1.0F;
}

float linear_factor(float iou, float threshold, float /*sigma*/) {
  return iou > threshold ? 1 - iou : 1.0F;
}

// Has no threshold: every overlap lowers the score.
float gaussian_factor(float iou, float /*threshold*/, float sigma) {
  return static_cast<float>(std::exp(-static_cast<double>(iou * iou / sigma)));
}

// -- the scores of voting

double own_score(float own, std::span<const Vote> /*votes*/, double /*beta*/) { return own; }

// The mean of the probabilities after their logits are divided by beta.
double tempered_mean(float /*own*/, std::span<const Vote> votes, double beta) {
  double sum = 0;
  for (const Vote& vote : votes) {
    const double yes = vote.score, no = 1 - yes, most = std::max(yes, no);
    const double a = std::exp(std::log(yes / most) / beta);
    const double b = std::exp(std::log(no / most) / beta);
    sum += a / (a + b);
  }
  return sum / static_cast<double>(votes.size());
}

double plain_sum(std::span<const Vote> votes) {
  double sum = 0;
  for (const Vote& vote : votes) sum += vote.score;
  return sum;
}

double mean_score(float /*own*/, std::span<const Vote> votes, double /*beta*/) {
  return plain_sum(votes) / static_cast<double>(votes.size());
}

double mean_by_iou(float /*own*/, std::span<const Vote> votes, double /*beta*/) {
  double sum = 0, weight = 0;
  for (const Vote& vote : votes) {
    sum += static_cast<double>(vote.score) * vote.iou;
    weight += vote.iou;
  }
  return sum / weight;
}

double power_mean(float /*own*/, std::span<const Vote> votes, double beta) {
  double sum = 0;
  for (const Vote& vote : votes) sum += std::pow(static_cast<double>(vote.score), beta);
  return std::pow(sum / static_cast<double>(votes.size()), 1 / beta);
}

double quasi_sum(float /*own*/, std::span<const Vote> votes, double beta) {
  return plain_sum(votes) / std::pow(static_cast<double>(votes.size()), beta);
}

template <class Row>
const Row& known_row(const std::vector<Row>& rows, const char* what, const std::string& name) {
  if (const Row* const row = row_named(rows, name)) return *row;
  fail(what, " is '", name, "', should be one of ", listed(names_of_rows(rows)));
}

// -- the walk over the candidates of an image

struct Contender {
  int64_t place = 0;  // in the image
  float score = 0;    // lowered by suppression
  int32_t kind = 0;
};

struct RefinedBox {
  std::array<float, 4> corners{};
  uint32_t key = 0;  // of the score
  float score = 0;
  int32_t kind = 0;
  int64_t place = 0;
  friend bool operator<(const RefinedBox& a, const RefinedBox& b) {
    if (a.key != b.key) return a.key < b.key;
    return a.kind != b.kind ? a.kind < b.kind : a.place < b.place;
  }
};

// 0 for a box without an area, as in KeptBoxes.
float iou_of(const MeasuredBox& a, const MeasuredBox& b, float& common) {
  common = std::max(std::min(a.x2, b.x2) - std::max(a.x1, b.x1), 0.0F) *
           std::max(std::min(a.y2, b.y2) - std::max(a.y1, b.y1), 0.0F);
  return common > 0 ? common / (a.area + b.area - common) : 0.0F;
}
float iou_of(const MeasuredBox& a, const MeasuredBox& b) {
  float common = 0;
  return iou_of(a, b, common);
}

bool has_finite_corners(const float* box) {
  return std::all_of(box, box + 4, [](float corner) { return std::isfinite(corner); });
}

// Moves the candidates that suppression keeps to the front, best first, and returns their number.
// `all` is ordered by place; of equal scores the first is the best.
int64_t keep_best(std::span<Contender> all, const float* boxes, const SuppressionMethod& method,
                  const RefinedAttrs& attrs) {
  int64_t kept = 0;
  auto rest = static_cast<int64_t>(all.size());  // the candidates kept .. rest are undecided
  while (kept < rest) {
    int64_t best = kept;
    for (int64_t i = kept + 1; i < rest; ++i)
      if (all[i].score > all[best].score) best = i;
    std::rotate(all.begin() + kept, all.begin() + best, all.begin() + best + 1);
    const MeasuredBox winner = measured(boxes + 4 * all[kept].place);
    int64_t to = ++kept;
    for (int64_t i = kept; i < rest; ++i) {
      float common = 0;
      const float iou = iou_of(winner, measured(boxes + 4 * all[i].place), common);
      if (common > 0) {
        all[i].score *= method.factor(iou, attrs.overlap, attrs.sigma);
        if (all[i].score < RefinedResults::kLeastScore) continue;
      }
      all[to++] = all[i];
    }
    rest = to;
  }
  return kept;
}

// Replaces the result's box by the mean of the boxes around it, weighted by their scores.
void take_votes(RefinedBox& result, std::span<const Contender> all, const float* boxes,
                const float* scores, const VoteScoring& scoring, const RefinedAttrs& attrs,
                Vote* votes) {
  const MeasuredBox own = measured(result.corners.data());
  std::array<double, 4> sums{};
  double weight = 0;
  std::size_t count = 0;
  for (const Contender& candidate : all) {
    const float* box = boxes + 4 * candidate.place;
    const float iou = iou_of(own, measured(box));
    if (!(iou >= attrs.vote_overlap) || iou == 0) continue;
    const float score = scores[candidate.place];
    votes[count++] = {score, iou};
    weight += score;
    for (std::size_t k = 0; k < 4; ++k) sums[k] += static_cast<double>(score) * box[k];
  }
  if (!(weight > 0)) return;  // a box without an area
  for (std::size_t k = 0; k < 4; ++k) result.corners[k] = static_cast<float>(sums[k] / weight);
  result.score = static_cast<float>(scoring.score(result.score, {votes, count}, attrs.vote_beta));
}

std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

const std::vector<SuppressionMethod>& suppression_methods() {
  static const std::vector<SuppressionMethod> rows{
      {"hard", hard_factor}, {"linear", linear_factor}, {"gaussian", gaussian_factor}};
  return rows;
}

const SuppressionMethod& suppression_method(const std::string& name) {
  return known_row(suppression_methods(), "method", name);
}

const std::vector<VoteScoring>& vote_scorings() {
  static const std::vector<VoteScoring> rows{
      {"ID", own_score},        {"TEMP_AVG", tempered_mean, true},     {"AVG", mean_score},
      {"IOU_AVG", mean_by_iou}, {"GENERALIZED_AVG", power_mean, true}, {"QUASI_SUM", quasi_sum}};
  return rows;
}

const VoteScoring& vote_scoring(const std::string& name) {
  return known_row(vote_scorings(), "vote", name);
}

std::vector<std::string> names_of_suppression_methods() {
  return names_of_rows(suppression_methods());
}
std::vector<std::string> names_of_vote_scorings() { return names_of_rows(vote_scorings()); }

RefinedResults::RefinedResults(const RefinedAttrs& attrs, int64_t candidates)
    : attrs_(attrs),
      method_(&suppression_method(attrs.method)),
      scoring_(attrs.vote.empty() ? nullptr : &vote_scoring(attrs.vote)),
      candidates_(candidates) {}

// Two lists of candidates, the results of all classes, and the votes for one result.
std::size_t RefinedResults::bytes() const {
  return 2 * whole_lines(candidates_ * sizeof(Contender)) +
         whole_lines(candidates_ * sizeof(RefinedBox)) + whole_lines(candidates_ * sizeof(Vote));
}

int64_t RefinedResults::run(const float* boxes, const float* scores, const int64_t* classes,
                            const To& to, std::byte* memory) const {
  auto* all = reinterpret_cast<Contender*>(memory);
  memory += whole_lines(candidates_ * sizeof(Contender));
  auto* work = reinterpret_cast<Contender*>(memory);
  memory += whole_lines(candidates_ * sizeof(Contender));
  auto* results = reinterpret_cast<RefinedBox*>(memory);
  memory += whole_lines(candidates_ * sizeof(RefinedBox));
  auto* votes = reinterpret_cast<Vote*>(memory);

  int64_t count = 0, found = 0;
  for (int64_t i = 0; i < candidates_; ++i) {
    const int64_t of = classes ? classes[i] : i % attrs_.classes;
    if (of > 0 && scores[i] > attrs_.score_threshold && has_finite_corners(boxes + 4 * i))
      all[count++] = {i, scores[i], static_cast<int32_t>(of)};
  }
  std::sort(all, all + count, [](const Contender& a, const Contender& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.place < b.place;
  });
  for (int64_t first = 0, last = 0; first < count; first = last) {
    while (last < count && all[last].kind == all[first].kind) ++last;
    const std::span<const Contender> of_class{all + first, all + last};
    std::copy(of_class.begin(), of_class.end(), work);
    const int64_t kept = keep_best({work, of_class.size()}, boxes, *method_, attrs_);
    for (int64_t i = 0; i < kept; ++i) {
      RefinedBox& result = results[found++];
      result = {.score = work[i].score, .kind = work[i].kind, .place = work[i].place};
      std::copy_n(boxes + 4 * work[i].place, 4, result.corners.begin());
      if (scoring_) take_votes(result, of_class, boxes, scores, *scoring_, attrs_, votes);
      result.key = sort_key(result.score, true);
    }
  }
  const int64_t given = std::min(found, attrs_.capacity), empty = attrs_.capacity - given;
  std::partial_sort(results, results + given, results + found);
  for (int64_t i = 0; i < given; ++i) {
    std::copy_n(results[i].corners.begin(), 4, to.boxes + 4 * i);
    to.scores[i] = results[i].score;
    to.classes[i] = results[i].kind;
  }
  std::fill_n(to.boxes + 4 * given, 4 * empty, 0.0F);
  std::fill_n(to.scores + given, empty, 0.0F);
  std::fill_n(to.classes + given, empty, 0);
  return given;
}

}  // namespace lockstep
