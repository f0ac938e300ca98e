// SPDX-License-Identifier: Apache-2.0
#include "app/draw/labels.h"

#include <algorithm>
#include <cmath>

#include "graph/printable.h"

namespace lockstep {
namespace {

constexpr std::size_t kMostBytes = 120;  // longer texts fit in no picture

bool continues_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

void drop_last_letter(std::string& text) {
  while (!text.empty() && continues_letter(text.back())) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

bool LabelWriter::Tab::meets(const Tab& other) const {
  return left < other.left + other.width && other.left < left + width &&
         top < other.top + other.height && other.top < top + height;
}

// Cairo's built-in font for ASCII is used if the system has no fonts.
LabelWriter::LabelWriter(Canvas& canvas, double letter_size)
    : canvas_(canvas), padding_(std::round(letter_size / 4)) {
  cairo_t* cairo = canvas_.cairo();
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);  // no coloured fringes
  cairo_set_font_options(cairo, options);
  cairo_font_options_destroy(options);
  cairo_select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo, letter_size);
  cairo_font_extents_t font;
  cairo_font_extents(cairo, &font);
  above_line_ = std::ceil(font.ascent);
  height_ = above_line_ + std::ceil(font.descent);
}

double LabelWriter::width_of(const std::string& text) {
  cairo_text_extents_t extents;
  cairo_text_extents(canvas_.cairo(), text.c_str(), &extents);
  return extents.x_advance;
}

std::string LabelWriter::shortened(std::string text, double most) {
  const bool long_text = text.size() > kMostBytes;
  if (long_text) {
    const bool in_letter = continues_letter(text[kMostBytes]);
    text.resize(kMostBytes);
    if (in_letter) drop_last_letter(text);
  }
  if (!long_text && width_of(text) <= most) return text;
  while (!text.empty() && width_of(text + "..") > most) drop_last_letter(text);
  return text.empty() ? text : text + "..";
}

LabelWriter::Tab LabelWriter::placed(const std::array<double, 4>& box, double width) const {
  const auto canvas_width = static_cast<double>(canvas_.width());
  const auto canvas_height = static_cast<double>(canvas_.height());
  const auto at = [&](double left, double top) {
    return Tab{std::clamp(std::round(left), 0.0, canvas_width - width),
               std::clamp(std::round(top), 0.0, canvas_height - height_), width, height_};
  };
  const std::array<Tab, 6> places{
      at(box[0], box[1] - height_), at(box[0], box[3]), at(box[2] - width, box[1] - height_),
      at(box[2] - width, box[3]),   at(box[0], box[1]), at(box[0], box[3] - height_)};
  const auto free = std::find_if(places.begin(), places.end(), [&](const Tab& tab) {
    return std::none_of(tabs_.begin(), tabs_.end(),
                        [&](const Tab& other) { return tab.meets(other); });
  });
  return free == places.end() ? places.front() : *free;
}

void LabelWriter::write(const std::array<double, 4>& box, const std::string& text,
                        const Colour& ground) {
  const double most = static_cast<double>(canvas_.width()) - 2 * padding_;
  const std::string shown = shortened(printable(text), most);
  if (shown.empty() || height_ > static_cast<double>(canvas_.height())) return;
  const Tab tab =
      placed(box, std::min(std::ceil(width_of(shown)), std::floor(most)) + 2 * padding_);
  tabs_.push_back(tab);
  cairo_t* cairo = canvas_.cairo();
  canvas_.set_colour(ground, 0.9);
  cairo_rectangle(cairo, tab.left, tab.top, tab.width, tab.height);
  cairo_fill(cairo);
  canvas_.set_colour(text_colour(ground));
  cairo_move_to(cairo, tab.left + padding_, tab.top + above_line_);
  cairo_show_text(cairo, shown.c_str());
}

}  // namespace lockstep
