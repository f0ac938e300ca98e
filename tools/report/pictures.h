// Pictures with boxes in HTML.
#pragma once

#include <string>
#include <vector>

#include "tools/report/shown.h"

namespace lockstep {

// Truth beside detections.
std::string html_of(const std::vector<ShownScene>& scenes);
std::string html_of(const std::vector<ShownMistake>& mistakes);

}  // namespace lockstep
