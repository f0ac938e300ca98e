// SPDX-License-Identifier: Apache-2.0
// Runs the mask head and the keypoint head on the feature maps of pictures, for as many boxes as
// there are. Graphs have a fixed number of places, so there are graphs of a few capacities.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "app/detection/find/recent_programs.h"
#include "app/detection/find/sized_program.h"
#include "data/coco/boxes.h"

namespace lockstep {

// Boxes that a graph of `places` places gets in one run.
struct ShapeRun {
  int64_t places = 0;
  std::size_t first = 0, count = 0;
};
// Divides `boxes` boxes into runs of few places in all: the largest capacity that is more than
// three quarters full, then the next one, and the smallest capacity for the rest.
std::vector<ShapeRun> shape_runs(std::size_t boxes);

// The boxes of one replica's picture, with the results of a graph that predicts feature maps.
struct ShapeRequest {
  const PredictedTensors* maps = nullptr;
  std::array<float, 3> extent{};     // im_info
  std::span<const Corners> boxes;    // as the network sees the picture, before scaling
  std::span<const int64_t> classes;  // of each box
};

// The outputs of the heads, box by box. Empty without the head.
struct HeadOutputs {
  std::vector<float> masks;     // [boxes, M, M], probabilities
  std::vector<float> heatmaps;  // [boxes, K, S, S], logits
};

class ShapePrograms {
 public:
  // Keeps up to `most` padded sizes for each capacity, at least two. `session` must outlive this
  // object.
  ShapePrograms(DetectorConfig config, Session& session, std::size_t most);

  // The outputs for each request, at most one for each replica. A request's outputs do not depend
  // on other requests. Leaves the maps in place, since these programs have their own memory.
  std::vector<HeadOutputs> run(const PictureSize& padded, std::span<const ShapeRequest> requests);

  std::size_t kept() const;

 private:
  struct OfCapacity {
    int64_t places;
    RecentPrograms<SizedProgram> programs;
  };
  const SizedProgram& program_for(const PictureSize& padded, OfCapacity& capacity);
  const Program* memory() const;
  void run_once(const SizedProgram& program, std::span<const ShapeRequest> requests,
                std::span<const ShapeRun> runs, std::vector<HeadOutputs>& outputs);

  DetectorConfig config_;
  Session& session_;
  std::vector<OfCapacity> capacities_;  // the largest first
  std::vector<float> boxes_;            // fed, of all replicas
  std::vector<int64_t> classes_;
};

}  // namespace lockstep
