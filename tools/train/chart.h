// Line charts as SVG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lockstep {

struct Series {
  std::string name;
  std::string colour;
  std::vector<std::pair<double, double>> points;
  bool dots = false;  // mark each point
};

struct Chart {
  std::string title;
  std::string x_label;
  std::vector<Series> series;
  bool from_zero = false;  // the vertical axis starts at 0
};

std::string svg_of(const Chart& chart);

}  // namespace lockstep
