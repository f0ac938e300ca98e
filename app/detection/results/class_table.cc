// SPDX-License-Identifier: Apache-2.0
#include "app/detection/results/class_table.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "app/format.h"
#include "graph/printable.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostClassesSaid = 100;

struct ClassColumn {
  std::string heading;
  std::vector<double> scores;  // by class; -1 without objects
};

std::vector<ClassColumn> class_columns(const BoxTestResult& result, std::size_t classes) {
  std::vector<ClassColumn> columns;
  const auto add_precision = [&](const std::string& kind, const CocoScores& scores) {
    ClassColumn all{kind + "AP", {}}, half{kind + "AP50", {}};
    for (std::size_t i = 0; i < classes; ++i) {
      all.scores.push_back(scores.average_precision(0, i));
      half.scores.push_back(scores.average_precision_at(0, i));
    }
    columns.push_back(std::move(all));
    columns.push_back(std::move(half));
  };
  add_precision("", *result.scores);
  if (result.voc) {
    columns.push_back({"VOC AP", result.voc->area});
    columns.push_back({"VOC07", result.voc->eleven_points});
  }
  if (result.mask_scores) add_precision("mask ", *result.mask_scores);
  if (result.keypoint_scores) add_precision("keypoint ", *result.keypoint_scores);
  return columns;
}

}  // namespace

std::string class_table(const BoxTestResult& result, const Annotations& table) {
  const std::size_t classes = table.categories.size();
  if (!result.scores || classes > kMostClassesSaid) return "";
  const std::vector<ClassColumn> columns = class_columns(result, classes);
  std::ostringstream out;
  const auto put = [&](const ClassColumn& column, const std::string& text) {
    out << std::setw(std::max(8, static_cast<int>(column.heading.size()) + 2)) << text;
  };
  for (const ClassColumn& column : columns) put(column, column.heading);
  out << "  class\n";
  for (std::size_t i = 0; i < classes; ++i) {
    for (const ClassColumn& column : columns)
      put(column, column.scores[i] < 0 ? "-" : fixed(column.scores[i], 3));
    out << "  " << printable(table.categories[i].name) << "\n";
  }
  return out.str();
}

}  // namespace lockstep
