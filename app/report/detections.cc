// SPDX-License-Identifier: Apache-2.0
#include "app/report/detections.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "app/format.h"
#include "app/html.h"
#include "app/report/pictures.h"
#include "app/report/precision_chart.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostClassRows = 100;

std::string score_text(double score) { return score < 0 ? "-" : fixed(score, 3); }

std::string facts_of(const std::vector<std::pair<std::string, double>>& facts) {
  std::string text = "<div class=\"facts\">\n";
  for (const auto& [name, score] : facts)
    text += "<div class=\"fact\"><b>" + score_text(score) + "</b><span>" + name + "</span></div>\n";
  return text + "</div>\n";
}

std::string tested_text(int64_t iteration, int64_t pictures) {
  return join("After iteration ", short_number(static_cast<double>(iteration)), ", on ",
              short_number(static_cast<double>(pictures)), " held-out picture",
              pictures == 1 ? "" : "s", ".");
}

// Boxes are always scored, masks and keypoints if the detector finds them.
struct ScoredKind {
  const CocoScores* scores;
  const char *of, *about, *measure, *column;
};
std::vector<ScoredKind> kinds_of(const DetectionTested& tested) {
  const bool alone = !tested.mask_scores && !tested.keypoint_scores;
  std::vector<ScoredKind> kinds{{&tested.scores, alone ? "" : " of boxes",
                                 "AP is the mean over overlaps of 0.5 to 0.95.", "overlap",
                                 alone ? "" : "box "}};
  if (tested.mask_scores)
    kinds.push_back(
        {&*tested.mask_scores, " of masks", "By the overlap of masks.", "overlap", "mask "});
  if (tested.keypoint_scores)
    kinds.push_back({&*tested.keypoint_scores, " of keypoints",
                     "By the similarity of keypoints (OKS), which is 1 for exact points.",
                     "similarity", "keypoint "});
  return kinds;
}

// The numbers that the page shows, if COCO reports them for the kind.
std::string score_facts(const ScoredKind& kind) {
  const std::string at = std::string("AP at ") + kind.measure;
  const std::vector<std::pair<std::string, std::string>> shown{{"ap", "AP"},
                                                               {"ap50", at + " 0.5"},
                                                               {"ap75", at + " 0.75"},
                                                               {"ap_small", "AP, small objects"},
                                                               {"ap_medium", "AP, medium objects"},
                                                               {"ap_large", "AP, large objects"},
                                                               {"ar100", "AR of 100 detections"},
                                                               {"ar20", "AR of 20 detections"}};
  std::vector<std::pair<std::string, double>> facts;
  const auto numbers = kind.scores->named_numbers();
  for (const auto& [name, text] : shown)
    for (const auto& [number, value] : numbers)
      if (name == number) facts.emplace_back(text, value);
  return facts_of(facts);
}

class DetectionPage {
 public:
  explicit DetectionPage(const DetectionTested& tested)
      : tested_(tested), kinds_(kinds_of(tested)) {}

  std::string run() {
    numbers();
    curves();
    classes();
    pictures();
    return out_.str();
  }

 private:
  void numbers() {
    for (const ScoredKind& kind : kinds_) {
      const bool is_first = &kind == &kinds_.front();
      out_ << "<h2>Average precision" << kind.of << "</h2>\n<p>"
           << (is_first ? tested_text(tested_.iteration, tested_.pictures) + " " : "") << kind.about
           << "</p>\n"
           << score_facts(kind);
    }
  }

  void curves() {
    out_ << "<div class=\"pair\">\n<section><h2>Precision and recall</h2>\n<p>The fraction of "
            "detections that are right, against the fraction of objects found. The mean over the "
            "classes.</p>\n"
         << curve_of(kinds_.front()) << "</section>\n";
    mistake_kinds();
    out_ << "</div>\n";
    if (kinds_.size() == 1) return;
    out_ << "<div class=\"charts\">\n";
    for (std::size_t i = 1; i < kinds_.size(); ++i) out_ << curve_of(kinds_[i]);
    out_ << "</div>\n";
  }

  static std::string curve_of(const ScoredKind& kind) {
    return html_of(precision_chart(*kind.scores, std::string("Precision") + kind.of, kind.measure));
  }

  void pictures() {
    if (!tested_.scenes.empty())
      out_ << "<h2>Held-out pictures</h2>\n<p>Objects, then detections with a score of "
           << fixed(tested_.least_score, 2) << " and more. Crowds have dashed lines."
           << (tested_.keypoint_scores ? " Hidden points of objects have a dark middle." : "")
           << "</p>\n"
           << html_of(tested_.scenes);
    if (!tested_.mistakes.empty())
      out_ << "<h2>Largest mistakes</h2>\n<p>Of each kind the surest detections and the largest "
              "objects. Detections have solid lines, the objects that they "
              "are compared with dashed ones."
           << (tested_.mask_scores ? " Only masks of detections are filled." : "") << "</p>\n"
           << html_of(tested_.mistakes);
  }

  void mistake_kinds() {
    const auto& counts = tested_.mistake_counts;
    const int64_t most = std::max<int64_t>(1, *std::max_element(counts.begin(), counts.end()));
    out_ << "<section><h2>Mistakes</h2>\n<p>Of detections with a score of "
         << fixed(tested_.least_score, 2) << " and more"
         << (tested_.mask_scores ? ", by their masks" : "") << ".</p>\n<table class=\"bars\">\n";
    for (std::size_t kind = 0; kind < kMistakeKinds; ++kind)
      out_ << "<tr><th>" << name_of(static_cast<MistakeKind>(kind))
           << "</th><td class=\"bar bad\"><i style=\"width:" << 100 * counts[kind] / most
           << "%\"></i></td><td>" << short_number(static_cast<double>(counts[kind]))
           << "</td></tr>\n";
    out_ << "</table></section>\n";
  }

  std::string class_name(std::size_t category) const {
    return category < tested_.classes.size() ? tested_.classes[category] : std::to_string(category);
  }

  // Sorts the worst classes first, classes without objects last.
  void classes() {
    const CocoScores& scores = tested_.scores;
    std::vector<double> precision(scores.categories());
    for (std::size_t k = 0; k < precision.size(); ++k)
      precision[k] = scores.average_precision(0, k);
    std::vector<std::size_t> order(precision.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(precision[a] < 0, precision[a]) < std::pair(precision[b] < 0, precision[b]);
    });
    out_ << "<h2>Classes</h2>\n";
    if (order.size() > kMostClassRows) {
      out_ << "<p>The worst " << kMostClassRows << " of " << order.size() << ".</p>\n";
      order.resize(kMostClassRows);
    }
    out_ << "<div class=\"wide\"><table class=\"bars scores\">\n<tr><th></th><td></td>";
    for (const ScoredKind& kind : kinds_) out_ << "<td>" << kind.column << "AP</td>";
    for (const char* number : {"AP50", "AP75", "AR100"})
      out_ << "<td>" << kinds_.front().column << number << "</td>";
    out_ << "<td>objects</td></tr>\n";
    for (std::size_t category : order) class_row(category, precision[category]);
    out_ << "</table></div>\n";
  }

  void class_row(std::size_t category, double precision) {
    constexpr std::size_t k50 = 0, k75 = 5;
    const CocoScores& scores = tested_.scores;
    out_ << "<tr><th>" << escaped(class_name(category)) << "</th><td class=\"bar\">";
    if (precision >= 0) out_ << "<i style=\"width:" << 100 * precision << "%\"></i>";
    out_ << "</td>";
    for (const ScoredKind& kind : kinds_)
      out_ << "<td>" << score_text(kind.scores->average_precision(0, category)) << "</td>";
    out_ << "<td>" << score_text(scores.average_precision_at(k50, category)) << "</td><td>"
         << score_text(scores.average_precision_at(k75, category)) << "</td><td>"
         << score_text(scores.average_recall(0, category)) << "</td><td>"
         << (category < tested_.objects.size()
                 ? short_number(static_cast<double>(tested_.objects[category]))
                 : "-")
         << "</td></tr>\n";
  }

  const DetectionTested& tested_;
  const std::vector<ScoredKind> kinds_;
  std::ostringstream out_;
};

std::string recall_table(const ProposalsTested& tested) {
  constexpr std::array<const char*, kCocoAreas> kNames{"all", "small", "medium", "large"};
  std::ostringstream out;
  out << "<table class=\"bars scores\">\n<tr><th></th>";
  for (const ProposalRecall* recall : {&tested.few, &tested.many})
    out << "<td>AR of " << short_number(recall->limit) << "</td><td>recall at 0.5</td>";
  out << "</tr>\n";
  for (std::size_t area = 0; area < kCocoAreas; ++area) {
    out << "<tr><th>" << kNames[area] << " objects</th>";
    for (const ProposalRecall* recall : {&tested.few, &tested.many})
      out << "<td>" << score_text(recall->average[area]) << "</td><td>"
          << score_text(recall->at_half[area]) << "</td>";
    out << "</tr>\n";
  }
  out << "</table>\n";
  return out.str();
}

}  // namespace

std::string html_of(const DetectionTested& tested) { return DetectionPage(tested).run(); }

std::string html_of(const ProposalsTested& tested) {
  const std::string few = short_number(tested.few.limit), many = short_number(tested.many.limit);
  std::string text = "<h2>Recall of proposals</h2>\n<p>" +
                     tested_text(tested.iteration, tested.pictures) +
                     " AR is the mean over overlaps of 0.5 to 0.95.</p>\n" +
                     facts_of({{"AR of " + few + " proposals", tested.few.average[0]},
                               {"AR of " + many + " proposals", tested.many.average[0]},
                               {"recall at 0.5, of " + few, tested.few.at_half[0]},
                               {"recall at 0.5, of " + many, tested.many.at_half[0]}}) +
                     "<h2>By size</h2>\n" + recall_table(tested);
  if (!tested.scenes.empty())
    text += "<h2>Held-out pictures</h2>\n<p>Objects, then the best proposals.</p>\n" +
            html_of(tested.scenes, "proposal");
  return text;
}

}  // namespace lockstep
