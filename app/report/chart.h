// SPDX-License-Identifier: Apache-2.0
// Line charts in HTML. Lines are SVG and stretch with the page; text keeps its size. Numbers are
// shown under the pointer, with or without a script.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/report/chart_axis.h"

namespace lockstep {

struct Series {
  std::string name;
  std::string colour;  // a class of the page's style
  std::vector<std::pair<double, double>> points;
  bool dots = false;  // marks each point
};

struct Chart {
  std::string title;
  std::string x_label;
  std::vector<Series> series;
  Scale scale = Scale::linear;
};

std::string html_of(const Chart& chart);

}  // namespace lockstep
