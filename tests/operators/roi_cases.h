// SPDX-License-Identifier: Apache-2.0
// Cases of RoI pooling, with naive references.
#pragma once

#include <string>
#include <vector>

#include "tests/support/op_case.h"

namespace lockstep::testing {

struct Align {
  int64_t height = 2, width = 3, ratio = 2;
  float scale = 0.5F;
  bool half_pixel = true, max = false;
};

CaseInput indices_of(const std::vector<int64_t>& values);
OpCase align_case(const std::string& name, const Dims& x,
                  const std::vector<std::vector<float>>& rois, const std::vector<int64_t>& images,
                  const Align& a);
OpCase multilevel_case(const std::string& name, const std::vector<Dims>& maps,
                       const std::vector<std::vector<float>>& rois,
                       const std::vector<int64_t>& images, const std::vector<int64_t>& levels,
                       const Align& a = {});
// x2 and y2 are inside the box.
OpCase pool_case(const std::string& name, const Dims& dims,
                 const std::vector<std::vector<float>>& rois, int64_t height = 2, int64_t width = 2,
                 float scale = 0.5F);
// Position-sensitive pooling; x2 and y2 are inside the box.
OpCase position_case(const std::string& name, const Dims& map,
                     const std::vector<std::vector<float>>& rois,
                     const std::vector<int64_t>& images, int64_t grid = 2, float scale = 0.5F);

}  // namespace lockstep::testing
