// SPDX-License-Identifier: Apache-2.0
#include "app/report/comparisons.h"

#include <sstream>

#include "app/draw/framing.h"
#include "app/html.h"

namespace lockstep {
namespace {

constexpr int64_t kComparedSide = 256;  // about as large as the page shows a picture

std::string compared_image(const Image& image, const std::string& said) {
  const Image small = fitted({image, {}}, kComparedSide).image;
  return "<img alt=\"" + escaped(said) + "\" title=\"" + escaped(said) + "\" src=\"" +
         photo_url(enlarged(small, times_within(small, kComparedSide))) + "\">";
}

}  // namespace

std::string html_of(const std::vector<ShownComparison>& comparisons) {
  std::ostringstream out;
  out << "<div class=\"scenes three\">\n";
  for (const ShownComparison& each : comparisons)
    out << "<figure><div>" << compared_image(each.picture, each.name)
        << compared_image(each.truth, each.name + ": truth")
        << compared_image(each.found, each.name + ": " + each.said) << "</div><figcaption><span>"
        << escaped(each.name) << "</span><span>truth</span><span>" << escaped(each.said)
        << "</span></figcaption></figure>\n";
  out << "</div>\n";
  return out.str();
}

}  // namespace lockstep
