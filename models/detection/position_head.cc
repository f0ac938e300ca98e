// SPDX-License-Identifier: Apache-2.0
#include "models/detection/position_head.h"

#include "lockstep/operators.h"
#include "models/detection/families.h"
#include "models/detection/pooled_rois.h"
#include "operators/roi/roi.h"

namespace lockstep {

bool scores_by_position(const DetectorOptions& options) {
  const DetectorFamily* const family = family_of(options);
  return family && family->scores_by_position;
}

BoxScores position_scores(Net& net, const DetectorOptions& options, const Feature& map,
                          PictureBoxes rois, Value im_info) {
  Graph& graph = net.graph;
  const ConvLayer point{.kernel = 1, .weight = gaussian(0.01F)};
  Value x = map.x;
  if (options.rfcn.reduced_channels > 0) {
    const std::string name = "conv_dim_reduce";
    x = relu_in_place(net, conv_layer(net, x, options.rfcn.reduced_channels, point, name), name);
  }
  const ListedRois listed = listed_rois(graph, rois, im_info, "psroipooled");
  const int64_t grid = options.rfcn.ps_grid_size;
  const PositionAttrs attrs{grid, 1.0F / static_cast<float>(map.stride)};
  const int64_t classes = options.model.num_classes;
  const int64_t coded = options.model.cls_agnostic_bbox_reg ? 2 : classes;
  const Value of_classes = conv_layer(net, x, classes * grid * grid, point, "conv_cls");
  const Value of_boxes = conv_layer(net, x, 4 * coded * grid * grid, point, "conv_bbox_pred");
  const auto pooled = [&](Value maps, const char* pooling, const char* name) {
    const Value bins =
        position_pool(graph, maps, listed.last_pixels, listed.images, attrs, pooling);
    return reduce_mean(graph, bins, {2, 3}, false, name);
  };
  return {pooled(of_classes, "psroipooled_cls", "cls_score"),
          pooled(of_boxes, "psroipooled_bbox", "bbox_pred")};
}

}  // namespace lockstep
