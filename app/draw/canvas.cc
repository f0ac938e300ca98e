// SPDX-License-Identifier: Apache-2.0
#include "app/draw/canvas.h"

#include <algorithm>
#include <cstring>

#include "lockstep/error.h"

namespace lockstep {
namespace {

template <class Visit>  // (pixel of Cairo, three bytes of the image)
void for_each_pixel(cairo_surface_t* surface, int64_t height, int64_t width, const Visit& visit) {
  unsigned char* bytes = cairo_image_surface_get_data(surface);
  const int64_t stride = cairo_image_surface_get_stride(surface);
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) visit(bytes + y * stride + 4 * x, 3 * (y * width + x));
}

}  // namespace

Canvas::Canvas(const Image& image) : height_(image.height), width_(image.width) {
  check(height_ > 0 && width_ > 0 && height_ <= kMostDrawnSide && width_ <= kMostDrawnSide,
        "a picture of ", width_, " x ", height_, " pixels cannot be drawn on: sides are 1 to ",
        kMostDrawnSide, " pixels");
  surface_.reset(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width_),
                                            static_cast<int>(height_)));
  cairo_.reset(cairo_create(surface_.get()));
  check(cairo_status(cairo()) == CAIRO_STATUS_SUCCESS, "a picture of ", width_, " x ", height_,
        " pixels cannot be drawn on: ", cairo_status_to_string(cairo_status(cairo())));
  for_each_pixel(surface_.get(), height_, width_, [&](unsigned char* pixel, std::size_t at) {
    const uint32_t value = static_cast<uint32_t>(image.rgb[at]) << 16 |
                           static_cast<uint32_t>(image.rgb[at + 1]) << 8 | image.rgb[at + 2];
    std::memcpy(pixel, &value, sizeof value);
  });
  cairo_surface_mark_dirty(surface_.get());
}

void Canvas::set_colour(const Colour& colour, double opacity) {
  cairo_set_source_rgba(cairo(), colour.red, colour.green, colour.blue, opacity);
}

void Canvas::stroke(const Colour& colour, double width) {
  set_colour({0, 0, 0}, 0.55);
  cairo_set_line_width(cairo(), width + std::max(1.5, width));
  cairo_stroke_preserve(cairo());
  set_colour(colour);
  cairo_set_line_width(cairo(), width);
  cairo_stroke(cairo());
}

Image Canvas::image() {
  check(cairo_status(cairo()) == CAIRO_STATUS_SUCCESS, "drawing on a picture of ", width_, " x ",
        height_, " pixels: ", cairo_status_to_string(cairo_status(cairo())));
  cairo_surface_flush(surface_.get());
  Image image{height_, width_, std::vector<uint8_t>(3 * height_ * width_)};
  for_each_pixel(surface_.get(), height_, width_, [&](const unsigned char* pixel, std::size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, pixel, sizeof value);
    for (std::size_t k = 0; k < 3; ++k)
      image.rgb[at + k] = static_cast<uint8_t>(value >> (16 - 8 * k));
  });
  return image;
}

}  // namespace lockstep
