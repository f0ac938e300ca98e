// SPDX-License-Identifier: Apache-2.0
#include "app/report/detections.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "app/format.h"
#include "app/report/html.h"
#include "app/report/pictures.h"
#include "app/report/precision_chart.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostClassRows = 100;

std::string score_text(double score) { return score < 0 ? "-" : fixed(score, 3); }

// One category's recall of 100 detections, over all overlaps; -1 for no objects.
double average_recall(const CocoScores& scores, std::size_t category) {
  double sum = 0;
  for (std::size_t at = 0; at < CocoScores::kOverlaps; ++at)
    sum += scores.recall[scores.recall_place(at, category, 0, CocoScores::kLimits - 1)];
  return sum / CocoScores::kOverlaps;
}

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

class DetectionPage {
 public:
  explicit DetectionPage(const DetectionTested& tested) : tested_(tested) {}

  std::string run() {
    numbers();
    out_ << "<div class=\"pair\">\n<section><h2>Precision and recall</h2>\n<p>The fraction of "
            "detections that are right, against the fraction of objects found. The mean over the "
            "classes.</p>\n"
         << html_of(precision_chart(tested_.scores)) << "</section>\n";
    mistake_kinds();
    out_ << "</div>\n";
    classes();
    if (!tested_.scenes.empty())
      out_ << "<h2>Held-out pictures</h2>\n<p>Objects, then detections with a score of "
           << fixed(tested_.least_score, 2) << " and more. Crowds have dashed lines.</p>\n"
           << html_of(tested_.scenes);
    if (!tested_.mistakes.empty())
      out_ << "<h2>Largest mistakes</h2>\n<p>Of each kind the surest detections and the largest "
              "objects. Detections have solid lines, the objects that they "
              "are compared with dashed ones.</p>\n"
           << html_of(tested_.mistakes);
    return out_.str();
  }

 private:
  void numbers() {
    const CocoNumbers numbers = tested_.scores.numbers();
    out_ << "<h2>Average precision</h2>\n<p>" << tested_text(tested_.iteration, tested_.pictures)
         << " AP is the mean over overlaps of 0.5 to 0.95.</p>\n"
         << facts_of({{"AP", numbers.ap},
                      {"AP at overlap 0.5", numbers.ap50},
                      {"AP at overlap 0.75", numbers.ap75},
                      {"AP, small objects", numbers.ap_small},
                      {"AP, medium objects", numbers.ap_medium},
                      {"AP, large objects", numbers.ap_large},
                      {"AR of 100 detections", numbers.ar100}});
  }

  void mistake_kinds() {
    const auto& counts = tested_.mistake_counts;
    const int64_t most = std::max<int64_t>(1, *std::max_element(counts.begin(), counts.end()));
    out_ << "<section><h2>Mistakes</h2>\n<p>Of detections with a score of "
         << fixed(tested_.least_score, 2) << " and more.</p>\n<table class=\"bars\">\n";
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
    out_ << "<div class=\"wide\"><table class=\"bars scores\">\n<tr><th></th><td></td>"
            "<td>AP</td><td>AP50</td><td>AP75</td><td>AR100</td><td>objects</td></tr>\n";
    for (std::size_t category : order) class_row(category, precision[category]);
    out_ << "</table></div>\n";
  }

  void class_row(std::size_t category, double precision) {
    constexpr std::size_t k50 = 0, k75 = 5;
    const CocoScores& scores = tested_.scores;
    out_ << "<tr><th>" << escaped(class_name(category)) << "</th><td class=\"bar\">";
    if (precision >= 0) out_ << "<i style=\"width:" << 100 * precision << "%\"></i>";
    out_ << "</td><td>" << score_text(precision) << "</td><td>"
         << score_text(scores.average_precision_at(k50, category)) << "</td><td>"
         << score_text(scores.average_precision_at(k75, category)) << "</td><td>"
         << score_text(average_recall(scores, category)) << "</td><td>"
         << (category < tested_.objects.size()
                 ? short_number(static_cast<double>(tested_.objects[category]))
                 : "-")
         << "</td></tr>\n";
  }

  const DetectionTested& tested_;
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
