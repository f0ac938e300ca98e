// SPDX-License-Identifier: Apache-2.0
// Pictures with boxes in HTML.
#pragma once

#include <string>
#include <vector>

#include "app/report/report_figures.h"

namespace lockstep {

// Pictures with their objects, each beside a copy with its detections, or other boxes called
// `found`.
std::string html_of(const std::vector<ShownScene>& scenes, const std::string& found = "detection");
std::string html_of(const std::vector<ShownMistake>& mistakes);

}  // namespace lockstep
