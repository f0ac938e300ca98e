// SPDX-License-Identifier: Apache-2.0
// The RoIs that heads of masks and keypoints read: in training sampled proposals that are objects,
// in prediction the boxes that were found.
#pragma once

#include "models/detection/features.h"
#include "models/detection/inputs.h"
#include "models/detection/options.h"
#include "models/detection/rpn.h"

namespace lockstep {

// Places [I, N, ..]; some are empty.
struct ObjectRois {
  PictureBoxes boxes;
  Value classes;  // of int64: 0 or less for background and in empty places
  Value matches;  // of int64, in training: the row of the object, -1 if there is none
  Value im_info;  // [I, 3]
  int64_t places(const Graph& graph) const { return graph.shape(boxes.value)[1].size(); }
};

// The first RoIs of each image's sample: no object has a later place.
ObjectRois objects_among(Graph& graph, const DetectionTrainOptions& train,
                         const SampledProposals& sample, Value im_info);

// RoIs from which keypoints are learnt. A sample apart from the other heads', as in Detectron:
// where few objects have points, the places of the others would be empty.
ObjectRois objects_with_points(Graph& graph, const DetectorOptions& options,
                               const Proposals& proposals, const DetectorInputs& in);

// Rows of the first `count` places of each image, [I count, ..], of x [I places, ..].
Value rows_of_first_places(Graph& graph, Value x, int64_t images, int64_t count,
                           const std::string& name);

// 1 for places with an object's class, else 0: floats [I, N, 1, ..] with `rank` dimensions.
Value filled_places(Graph& graph, Value classes, std::size_t rank, const std::string& name);

// GaussianFill with this deviation, or MSRAFill.
Initializer fill_named(const std::string& fill, float deviation);

}  // namespace lockstep
