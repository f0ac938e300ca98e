// SPDX-License-Identifier: Apache-2.0
// Names of boxes, each on a tab of its box's colour.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/draw/canvas.h"

namespace lockstep {

class LabelWriter {
 public:
  LabelWriter(Canvas& canvas, double letter_size);

  // Writes a label at `box` (left, top, right, bottom, within the canvas). Avoids other labels if
  // possible. Shortens a text that is wider than the picture. Writes nothing on a picture that is
  // too small for one letter.
  void write(const std::array<double, 4>& box, const std::string& text, const Colour& ground);

 private:
  struct Tab {
    double left = 0, top = 0, width = 0, height = 0;
    bool meets(const Tab& other) const;
  };

  double width_of(const std::string& text);
  std::string shortened(std::string text, double most);
  Tab placed(const std::array<double, 4>& box, double width) const;

  Canvas& canvas_;
  double padding_, above_line_ = 0, height_ = 0;
  std::vector<Tab> tabs_;
};

}  // namespace lockstep
