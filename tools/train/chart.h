// Line charts in HTML. The lines are SVG and stretch with the page; letters stay as large as they
// are. Numbers are shown where the pointer rests, with or without a script.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/train/axis.h"

namespace lockstep {

struct Series {
  std::string name;
  std::string colour;  // a class of the page's style
  std::vector<std::pair<double, double>> points;
  bool dots = false;  // mark each point
};

struct Chart {
  std::string title;
  std::string x_label;
  std::vector<Series> series;
  Scale scale = Scale::linear;
};

std::string html_of(const Chart& chart);

}  // namespace lockstep
