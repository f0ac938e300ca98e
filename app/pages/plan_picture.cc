// SPDX-License-Identifier: Apache-2.0
#include "app/pages/plan_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "app/format.h"
#include "app/html.h"
#include "app/pages/arena_rectangles.h"
#include "graph/limits.h"

namespace lockstep {
namespace {

constexpr int kWide = 1000, kLeft = 70, kLane = 16, kGap = 4, kArena = 150;
constexpr std::size_t kMostLanes = 12;
constexpr double kLeastHeight = 0.4;  // of a rectangle of the arena that is drawn
constexpr double kStriped = 6;        // the least height of one with stripes

// Stripes along a bar tell phases apart without colours.
struct PhaseLook {
  const char *colour, *letter;
  int stripes;
};
constexpr std::array<PhaseLook, kPhases> kLooks{
    {{"blue", "F", 0}, {"orange", "B", 1}, {"purple", "R", 2}, {"green", "U", 3}}};

// Bars of one phase: an area, and the lines of its stripes.
class PhaseBars {
 public:
  void add(double begins, double ends, double y, double high, int stripes) {
    const std::string from = fixed(begins, 1), to = fixed(ends, 1);
    area_ += join("M", from, " ", fixed(y, 1), "H", to, "v", fixed(high, 1), "H", from, "z");
    for (int i = 1; i <= stripes; ++i)
      lines_ += join("M", from, " ", fixed(y + high * i / (stripes + 1), 1), "H", to);
  }

  std::string svg(const PhaseLook& look) const {
    if (area_.empty()) return "";
    std::string text = join("<path d=\"", area_, "\" style=\"fill:var(--", look.colour, ")\"/>");
    if (!lines_.empty()) text += join("<path d=\"", lines_, "\" style=\"stroke:var(--card)\"/>");
    return text;
  }

 private:
  std::string area_, lines_;
};

class PlanDrawing {
 public:
  PlanDrawing(const Plan& plan, const PlanTimeline& timeline, const std::vector<Phase>& phases)
      : plan_(plan), timeline_(timeline), phases_(phases) {
    for (std::size_t w = 0; w < plan.workers.size() && lanes_.size() < kMostLanes; ++w)
      if (!plan.workers[w].steps.empty()) lanes_.push_back(static_cast<int>(w));
  }

  std::string run() {
    const int high = lanes_high() + 14 + kArena + 4;
    out_ << "<svg class=\"planned\" viewBox=\"0 0 " << kWide << " " << high
         << "\" role=\"img\" aria-label=\"Workers and memory of a step over time\" "
            "font-size=\"11\" fill=\"currentColor\">\n";
    for (std::size_t i = 0; i < lanes_.size(); ++i) lane(i);
    arena();
    out_ << "</svg>\n<p>";
    for (std::size_t phase = 0; phase < kPhases; ++phase) {
      PhaseBars swatch;
      swatch.add(0, 22, 0, 12, kLooks[phase].stripes);
      out_ << "<svg width=\"22\" height=\"12\" aria-hidden=\"true\">" << swatch.svg(kLooks[phase])
           << "</svg> " << kLooks[phase].letter << " " << name_of(static_cast<Phase>(phase))
           << " &nbsp; ";
    }
    if (lanes_.size() < plan_.workers.size())
      out_ << "The first " << lanes_.size() << " of " << plan_.workers.size() << " workers.";
    out_ << "</p>\n";
    return out_.str();
  }

 private:
  int lanes_high() const { return static_cast<int>(lanes_.size()) * (kLane + kGap); }

  double x_of(double seconds) const {
    const double share = timeline_.seconds > 0 ? seconds / timeline_.seconds : 0;
    return kLeft + std::clamp(share, 0.0, 1.0) * (kWide - kLeft);
  }

  // Bars of a phase that are less than a pixel apart are joined.
  void lane(std::size_t row) {
    const Worker& worker = plan_.workers[lanes_[row]];
    const int y = static_cast<int>(row) * (kLane + kGap);
    std::array<PhaseBars, kPhases> bars;
    for (std::size_t i = 0; i < worker.steps.size();) {
      const auto phase = static_cast<std::size_t>(phases_[worker.steps[i]]);
      const double begins = x_of(timeline_.steps[worker.steps[i]].begins);
      double ends = x_of(timeline_.steps[worker.steps[i]].ends);
      for (++i; i < worker.steps.size(); ++i) {
        const PlacedStep& next = timeline_.steps[worker.steps[i]];
        const bool joins = static_cast<std::size_t>(phases_[worker.steps[i]]) == phase &&
                           x_of(next.begins) < ends + 1;
        if (!joins) break;
        ends = x_of(next.ends);
      }
      bars[phase].add(begins, std::max(ends, begins + 0.5), y, kLane, kLooks[phase].stripes);
    }
    out_ << "<text x=\"0\" y=\"" << y + 12 << "\">" << escaped(text_of(worker)) << "</text>";
    for (std::size_t phase = 0; phase < kPhases; ++phase) out_ << bars[phase].svg(kLooks[phase]);
    out_ << "\n";
  }

  int fullest() const {
    const auto most = std::ranges::max_element(plan_.workers, {}, &Worker::arena_bytes);
    return static_cast<int>(most - plan_.workers.begin());
  }

  // The fullest arena: its blocks, and the bytes in use as a line.
  void arena() {
    const int worker = fullest(), top = lanes_high() + 14;
    const auto size = static_cast<double>(plan_.workers[worker].arena_bytes);
    if (size <= 0) return;
    const auto y_of = [&](double bytes) { return top + kArena * (1 - bytes / size); };
    out_ << "<rect x=\"" << kLeft << "\" y=\"" << top << "\" width=\"" << kWide - kLeft
         << "\" height=\"" << kArena << "\" style=\"fill:var(--shade)\"/>\n";
    const std::vector<ArenaRectangle> rectangles = rectangles_of(plan_, timeline_);
    std::vector<std::pair<double, double>> changes;
    std::array<PhaseBars, kPhases> blocks;
    for (const ArenaRectangle& rectangle : rectangles) {
      const Block& block = plan_.blocks[rectangle.block];
      if (block.worker != worker) continue;
      const auto bytes = static_cast<double>(block.bytes);
      changes.emplace_back(rectangle.begins, bytes);
      changes.emplace_back(rectangle.ends, -bytes);
      const double high = bytes / size * kArena;
      const double begins = x_of(rectangle.begins), wide = x_of(rectangle.ends) - begins;
      if (high < kLeastHeight || wide < kLeastHeight) continue;
      const auto phase = rectangle.producer < 0
                             ? std::size_t{0}
                             : static_cast<std::size_t>(phases_[rectangle.producer]);
      const bool is_high = high > kStriped;
      blocks[phase].add(begins, begins + wide, y_of(static_cast<double>(block.offset) + bytes),
                        high, is_high ? kLooks[phase].stripes : 0);
    }
    out_ << "<g opacity=\"0.6\">";
    for (std::size_t phase = 0; phase < kPhases; ++phase) out_ << blocks[phase].svg(kLooks[phase]);
    out_ << "</g>";
    std::ranges::sort(changes);
    std::ostringstream line;
    double used = 0, drawn = -1;
    for (const auto& [at, bytes] : changes) {
      used += bytes;
      if (x_of(at) - drawn < 0.5 && bytes < 0) continue;  // peaks are never left out
      drawn = x_of(at);
      line << (line.tellp() > 0 ? "L" : "M") << fixed(drawn, 1) << " " << fixed(y_of(used), 1);
    }
    out_ << "\n<path d=\"" << line.str()
         << "\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.5\"/>\n";
    const auto label = [&](double y, const std::string& text) {
      out_ << "<text x=\"0\" y=\"" << y << "\">" << escaped(text) << "</text>\n";
    };
    label(top + 10, "arena of");
    label(top + 24, text_of(plan_.workers[worker]));
    label(top + 38, text_of_bytes(plan_.workers[worker].arena_bytes));
  }

  const Plan& plan_;
  const PlanTimeline& timeline_;
  const std::vector<Phase>& phases_;
  std::vector<int> lanes_;  // workers that are drawn
  std::ostringstream out_;
};

}  // namespace

std::string picture_of(const Plan& plan, const PlanTimeline& timeline,
                       const std::vector<Phase>& phases) {
  return PlanDrawing(plan, timeline, phases).run();
}

}  // namespace lockstep
