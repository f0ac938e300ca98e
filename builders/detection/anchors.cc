#include "builders/detection/anchors.h"

#include <cmath>

namespace lockstep {

std::vector<float> base_anchors(double stride, const std::vector<double>& sizes,
                                const std::vector<double>& aspect_ratios) {
  std::vector<float> anchors;
  const double centre = (stride - 1) / 2;
  for (const double ratio : aspect_ratios) {
    // Of a box as large as the cell; nearbyint rounds halves to even numbers.
    const double width = std::nearbyint(std::sqrt(stride * stride / ratio));
    const double height = std::nearbyint(width * ratio);
    for (const double size : sizes) {
      const double half_width = (width * (size / stride) - 1) / 2;
      const double half_height = (height * (size / stride) - 1) / 2;
      for (const double corner : {centre - half_width, centre - half_height,
                                  centre + half_width + 1, centre + half_height + 1})
        anchors.push_back(static_cast<float>(corner));
    }
  }
  return anchors;
}

}  // namespace lockstep
