// SPDX-License-Identifier: Apache-2.0
#include "app/draw/points.h"

#include <cmath>

namespace lockstep {
namespace {

constexpr double kFarOutside = 4.0 * kMostDrawnSide;  // Cairo's numbers end beyond it

class PointDrawing {
 public:
  PointDrawing(Canvas& canvas, const DrawnBox& box, double scale, double line)
      : canvas_(canvas),
        box_(box),
        colour_(class_colour(box.colour)),
        scale_(scale),
        line_(line),
        radius_(std::max(2.5, 1.5 * line)) {}

  void run() {
    cairo_t* cairo = canvas_.cairo();
    cairo_set_dash(cairo, nullptr, 0, 0);
    cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND);
    for (const Limb& limb : box_.limbs)
      if (is_drawn(limb.first) && is_drawn(limb.second)) draw_limb(limb);
    for (std::size_t i = 0; i < box_.points.size(); ++i)
      if (is_drawn(i)) draw_point(box_.points[i]);
    cairo_set_line_cap(cairo, CAIRO_LINE_CAP_BUTT);
  }

 private:
  double on_canvas(float at) const { return scale_ * at; }

  bool is_drawn(std::size_t place) const {
    if (place >= box_.points.size()) return false;
    const DrawnPoint& point = box_.points[place];
    // False for NaN, too.
    return point.mark != PointMark::none && std::abs(on_canvas(point.x)) <= kFarOutside &&
           std::abs(on_canvas(point.y)) <= kFarOutside;
  }

  void draw_limb(const Limb& limb) {
    const DrawnPoint &from = box_.points[limb.first], &to = box_.points[limb.second];
    cairo_move_to(canvas_.cairo(), on_canvas(from.x), on_canvas(from.y));
    cairo_line_to(canvas_.cairo(), on_canvas(to.x), on_canvas(to.y));
    canvas_.stroke(colour_, line_);
  }

  void draw_disc(const DrawnPoint& point, double radius, const Colour& colour, double opacity) {
    cairo_t* cairo = canvas_.cairo();
    cairo_arc(cairo, on_canvas(point.x), on_canvas(point.y), radius, 0, 2 * M_PI);
    canvas_.set_colour(colour, opacity);
    cairo_fill(cairo);
  }

  // A disc on a dark rim. A hollow point has a dark middle: a filled point and a hollow one differ
  // without colours.
  void draw_point(const DrawnPoint& point) {
    draw_disc(point, radius_ + std::max(1.0, line_ / 2), {0, 0, 0}, 0.75);
    draw_disc(point, radius_, colour_, 1);
    if (point.mark == PointMark::hollow) draw_disc(point, 0.6 * radius_, {0, 0, 0}, 1);
  }

  Canvas& canvas_;
  const DrawnBox& box_;
  const Colour colour_;
  const double scale_, line_, radius_;
};

}  // namespace

void draw_points(Canvas& canvas, const DrawnBox& box, double scale, double line) {
  PointDrawing(canvas, box, scale, line).run();
}

}  // namespace lockstep
