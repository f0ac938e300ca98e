// SPDX-License-Identifier: Apache-2.0
#include "app/draw/boxes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/draw/canvas.h"
#include "app/draw/labels.h"

namespace lockstep {
namespace {

using CanvasBox = std::array<double, 4>;  // left, top, right, bottom

// The part of the box within the canvas.
std::optional<CanvasBox> visible(const DrawnBox& box, int64_t scale, const Canvas& canvas) {
  const auto& [left, top, right, bottom] = box.corners;
  // False for NaN, too.
  if (!(left <= right && top <= bottom)) return {};
  const auto width = static_cast<double>(canvas.width());
  const auto height = static_cast<double>(canvas.height());
  CanvasBox at;
  for (std::size_t k = 0; k < 4; ++k) at[k] = box.corners[k] * static_cast<double>(scale);
  const bool finite = std::all_of(at.begin(), at.end(), [](double c) { return std::isfinite(c); });
  if (!finite || at[2] <= 0 || at[3] <= 0 || at[0] >= width || at[1] >= height) return {};
  return CanvasBox{std::max(at[0], 0.0), std::max(at[1], 0.0), std::min(at[2], width),
                   std::min(at[3], height)};
}

// The middle of the line: at the box's edge, moved so that the line fills whole pixels within the
// canvas.
CanvasBox middle(const CanvasBox& box, double line, const Canvas& canvas) {
  const auto within = [&](double at, int64_t size) {
    const double most = std::max(static_cast<double>(size) - line, 0.0);
    return std::clamp(std::round(at - line / 2), 0.0, most) + line / 2;
  };
  return {within(box[0], canvas.width()), within(box[1], canvas.height()),
          within(box[2], canvas.width()), within(box[3], canvas.height())};
}

class BoxDrawing {
 public:
  BoxDrawing(const Image& image, int64_t scale)
      : canvas_(enlarged(image, scale)),
        scale_(scale),
        side_(std::sqrt(static_cast<double>(canvas_.width() * canvas_.height()))),
        line_(std::max(2.0, std::round(1 + side_ / 400))) {}

  Image run(std::span<const DrawnBox> boxes) {
    for (const DrawnBox& box : boxes)
      if (const auto at = visible(box, scale_, canvas_)) outline(box, *at);
    LabelWriter labels(canvas_, std::round(9 + side_ / 72));
    for (const DrawnBox& box : boxes)
      if (const auto at = visible(box, scale_, canvas_))
        labels.write(*at, box.label, class_colour(box.colour));
    return canvas_.image();
  }

 private:
  // A dark rim separates the line from a light background.
  void outline(const DrawnBox& box, const CanvasBox& at) {
    cairo_t* cairo = canvas_.cairo();
    const auto [left, top, right, bottom] = middle(at, line_, canvas_);
    const double dashes[] = {4 * line_, 3 * line_};
    cairo_set_dash(cairo, dashes, box.dashed ? 2 : 0, 0);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_MITER);
    cairo_rectangle(cairo, left, top, right - left, bottom - top);
    canvas_.set_colour({0, 0, 0}, 0.55);
    cairo_set_line_width(cairo, line_ + std::max(1.5, line_));
    cairo_stroke_preserve(cairo);
    canvas_.set_colour(class_colour(box.colour));
    cairo_set_line_width(cairo, line_);
    cairo_stroke(cairo);
  }

  Canvas canvas_;
  const int64_t scale_;
  const double side_, line_;
};

}  // namespace

Image drawn(const Image& image, std::span<const DrawnBox> boxes, int64_t scale) {
  return BoxDrawing(image, scale).run(boxes);
}

}  // namespace lockstep
