// SPDX-License-Identifier: Apache-2.0
// Cairo on an image: owns its objects and converts its errors.
#pragma once

#include <cairo.h>

#include <memory>
#include <string>

#include "app/draw/colours.h"
#include "data/image.h"

namespace lockstep {

inline constexpr int64_t kMostDrawnSide = 32767;  // Cairo's own limit

class Canvas {
 public:
  explicit Canvas(const Image& image);

  int64_t height() const { return height_; }
  int64_t width() const { return width_; }
  cairo_t* cairo() { return cairo_.get(); }
  void set_colour(const Colour& colour, double opacity = 1);
  // Draws the current path as a line, on a dark rim that separates it from a light background.
  void stroke(const Colour& colour, double width);
  // The drawn image. Throws if Cairo has failed.
  Image image();

 private:
  struct Destroy {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
    void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
  };

  int64_t height_, width_;
  std::unique_ptr<cairo_surface_t, Destroy> surface_;
  std::unique_ptr<cairo_t, Destroy> cairo_;
};

}  // namespace lockstep
