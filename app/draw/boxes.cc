// SPDX-License-Identifier: Apache-2.0
#include "app/draw/boxes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/draw/canvas.h"
#include "app/draw/instance_masks.h"
#include "app/draw/labels.h"
#include "app/draw/points.h"
#include "data/detection/rings_of.h"

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

Image with_masks(Image image, std::span<const DrawnBox> boxes) {
  fill_masks(image, boxes);
  return image;
}

class BoxDrawing {
 public:
  BoxDrawing(const Image& image, std::span<const DrawnBox> boxes, int64_t scale)
      : boxes_(boxes),
        canvas_(enlarged(with_masks(image, boxes), scale)),
        scale_(scale),
        side_(std::sqrt(static_cast<double>(canvas_.width() * canvas_.height()))),
        line_(std::max(2.0, std::round(1 + side_ / 400))) {}

  Image run() {
    for (const DrawnBox& box : boxes_) {
      if (has_mask(box)) outline_mask(box);
      if (const auto at = visible(box, scale_, canvas_)) outline(box, *at);
    }
    for (const DrawnBox& box : boxes_)
      if (!box.points.empty()) draw_points(canvas_, box, static_cast<double>(scale_), line_);
    LabelWriter labels(canvas_, std::round(9 + side_ / 72));
    for (const DrawnBox& box : boxes_)
      if (const auto at = visible(box, scale_, canvas_))
        labels.write(*at, box.label, class_colour(box.colour));
    return canvas_.image();
  }

 private:
  void set_dashes(const DrawnBox& box, double line) {
    const double dashes[] = {4 * line, 3 * line};
    cairo_set_dash(canvas_.cairo(), dashes, box.dashed ? 2 : 0, 0);
  }

  void outline(const DrawnBox& box, const CanvasBox& at) {
    cairo_t* cairo = canvas_.cairo();
    const auto [left, top, right, bottom] = middle(at, line_, canvas_);
    set_dashes(box, line_);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_MITER);
    cairo_rectangle(cairo, left, top, right - left, bottom - top);
    canvas_.stroke(class_colour(box.colour), line_);
  }

  // An even width fills whole pixels: the outline is along edges of pixels.
  void outline_mask(const DrawnBox& box) {
    cairo_t* cairo = canvas_.cairo();
    const double line = std::max(2.0, 2 * std::round(line_ / 4));
    const auto times = static_cast<double>(scale_);
    const Rings rings = rings_of(box.mask);
    for (std::size_t i = 0; i < rings.vertices(); ++i) {
      const double x = times * rings.xy[2 * i], y = times * rings.xy[2 * i + 1];
      const bool is_first = i == 0 || rings.ring_of[i] != rings.ring_of[i - 1];
      if (is_first && i > 0) cairo_close_path(cairo);
      if (is_first)
        cairo_move_to(cairo, x, y);
      else
        cairo_line_to(cairo, x, y);
    }
    if (rings.vertices() > 0) cairo_close_path(cairo);
    set_dashes(box, line);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_MITER);
    canvas_.stroke(class_colour(box.colour), line);
  }

  const std::span<const DrawnBox> boxes_;
  Canvas canvas_;
  const int64_t scale_;
  const double side_, line_;
};

}  // namespace

Image drawn(const Image& image, std::span<const DrawnBox> boxes, int64_t scale) {
  return BoxDrawing(image, boxes, scale).run();
}

}  // namespace lockstep
