// SPDX-License-Identifier: Apache-2.0
#include "app/report/precision_chart.h"

#include <array>

namespace lockstep {
namespace {

struct PrecisionCurve {
  std::size_t overlap;  // index of the overlap
  const char *number, *colour;
};
constexpr std::array<PrecisionCurve, 3> kCurves{
    {{0, "0.5", "blue"}, {5, "0.75", "orange"}, {8, "0.9", "green"}}};

}  // namespace

Chart precision_chart(const CocoScores& scores, const std::string& title,
                      const std::string& measure) {
  Chart chart{title, "recall", {}, Scale::from_zero};
  for (const auto& [at, number, colour] : kCurves) {
    std::vector<double> sum(CocoScores::kRecalls, 0);
    std::size_t counted = 0;
    for (std::size_t category = 0; category < scores.categories(); ++category) {
      const std::vector<double> curve = scores.precision_curve(at, category);
      if (curve.front() < 0) continue;  // no objects
      ++counted;
      for (std::size_t r = 0; r < sum.size(); ++r) sum[r] += curve[r];
    }
    const bool is_first = chart.series.empty();
    Series series{is_first ? measure + " " + number : number, colour, {}};
    for (std::size_t r = 0; counted > 0 && r < sum.size(); ++r)
      series.points.emplace_back(static_cast<double>(r) / (CocoScores::kRecalls - 1),
                                 sum[r] / static_cast<double>(counted));
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace lockstep
