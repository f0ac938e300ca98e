// SPDX-License-Identifier: Apache-2.0
#include "app/report/pictures.h"

#include <algorithm>
#include <sstream>

#include "app/draw/boxes.h"
#include "app/format.h"
#include "app/html.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Sides of small pictures, after they are enlarged: about as large as the page shows them.
constexpr int64_t kSceneSide = 400, kCutOutSide = 250;

std::string drawn_image(const Image& image, const std::vector<DrawnBox>& boxes, int64_t side,
                        const std::string& said) {
  const Image picture = drawn(image, boxes, times_within(image, side));
  return "<img alt=\"" + escaped(said) + "\" title=\"" + escaped(said) + "\" src=\"" +
         photo_url(picture) + "\">";
}

// "3 objects, 3 masks, 1 with keypoints"
std::string counted(const std::vector<DrawnBox>& boxes, const std::string& what) {
  std::string text = join(boxes.size(), " ", what, boxes.size() == 1 ? "" : "s");
  const auto masks = std::count_if(boxes.begin(), boxes.end(), has_mask);
  const auto points = std::count_if(boxes.begin(), boxes.end(),
                                    [](const DrawnBox& box) { return !box.points.empty(); });
  if (masks > 0) text += join(", ", masks, masks == 1 ? " mask" : " masks");
  if (points > 0) text += join(", ", points, " with keypoints");
  return text;
}

}  // namespace

std::string html_of(const std::vector<ShownScene>& scenes, const std::string& what) {
  std::ostringstream out;
  out << "<div class=\"scenes\">\n";
  for (const ShownScene& scene : scenes) {
    const std::string truth = counted(scene.truth, "object");
    const std::string found = counted(scene.found, what);
    out << "<figure><div>"
        << drawn_image(scene.image, scene.truth, kSceneSide, scene.name + ": " + truth)
        << drawn_image(scene.image, scene.found, kSceneSide, scene.name + ": " + found)
        << "</div><figcaption><span>" << truth << "</span><span>" << found << "</span><span>"
        << escaped(scene.name) << "</span></figcaption></figure>\n";
  }
  out << "</div>\n";
  return out.str();
}

std::string html_of(const std::vector<ShownMistake>& mistakes) {
  std::ostringstream out;
  out << "<div class=\"mistakes\">\n";
  for (const ShownMistake& mistake : mistakes) {
    out << "<figure>" << drawn_image(mistake.image, mistake.boxes, kCutOutSide, mistake.what)
        << "<figcaption><b>" << escaped(mistake.what) << "</b>";
    if (mistake.score >= 0) out << "<span>score " << fixed(mistake.score, 2) << "</span>";
    out << "<span>" << escaped(mistake.name) << "</span></figcaption></figure>\n";
  }
  out << "</div>\n";
  return out.str();
}

}  // namespace lockstep
