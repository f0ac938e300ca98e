// SPDX-License-Identifier: Apache-2.0
#include "models/detection/roi_maps.h"

namespace lockstep {

bool pools_from_levels(const DetectorOptions& options, const Features& features) {
  return features.pyramid() && options.fpn.multilevel_rois;
}

std::vector<Feature> roi_maps(const DetectorOptions& options, const Features& features) {
  if (!pools_from_levels(options, features)) return {features.maps.front()};
  std::vector<Feature> maps;
  for (int64_t level = options.fpn.roi_min_level; level <= options.fpn.roi_max_level; ++level)
    maps.push_back(features.level(level));
  return maps;
}

void output_roi_maps(Net& net, const DetectorOptions& options, const Features& features) {
  const std::vector<Feature> maps = roi_maps(options, features);
  for (std::size_t i = 0; i < maps.size(); ++i) net.output(join("roi_map_", i), maps[i].x);
}

Features fed_roi_maps(Net& net, const DetectorOptions& options, const Features& features,
                      const Graph& of) {
  Features fed{roi_maps(options, features)};
  if (pools_from_levels(options, features)) fed.first_level = options.fpn.roi_min_level;
  for (std::size_t i = 0; i < fed.maps.size(); ++i) {
    Feature& map = fed.maps[i];
    const std::string name = join("roi_map_", i);
    Shape shape = of.shape(map.x);
    if (!shape[2].known()) shape[2] = Dim(name + "_height");
    if (!shape[3].known()) shape[3] = Dim(name + "_width");
    map.x = net.input(name, {DType::float32, shape});
  }
  return fed;
}

}  // namespace lockstep
