// SPDX-License-Identifier: Apache-2.0
// Joins the masks or the heatmaps that a head predicts for the boxes of a picture in several views,
// as Detectron does (TEST.MASK_AUG, TEST.KPS_AUG).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/coco/annotations.h"

namespace lockstep {

// How the numbers of the views are joined: by HEUR of the section.
struct ShapeHeuristic {
  const char* name;
  bool takes_largest = false;  // otherwise the mean
  bool of_logits = false;      // the numbers are probabilities, their logits are joined
};
const std::vector<ShapeHeuristic>& mask_heuristics();
const std::vector<ShapeHeuristic>& heatmap_heuristics();
// The row of a name that is known to be one.
const ShapeHeuristic& shape_heuristic(const std::vector<ShapeHeuristic>& rows,
                                      const std::string& name);

// The masks or heatmaps of a picture's boxes. A box need not be in every view.
class MergedShapes {
 public:
  // Each box has `numbers` numbers.
  MergedShapes(const ShapeHeuristic& rule, std::size_t boxes, std::size_t numbers);

  // Adds what a view shows of a box, in the frame of the box as the picture has it.
  void add(std::size_t box, std::span<const float> shape);
  // The joined numbers of a box that was in a view.
  std::vector<float> of(std::size_t box) const;

 private:
  const ShapeHeuristic* rule_;
  std::size_t numbers_;
  std::vector<float> joined_;  // sums or largest numbers, box by box
  std::vector<int> views_;     // of each box
};

// The mask [side, side], or the heatmaps [K, side, side], of a mirrored view as the picture has
// them. Pairs of points change places, too.
std::vector<float> mirrored_back(std::span<const float> shape, int64_t side,
                                 const KeypointPairs& pairs = {});

}  // namespace lockstep
