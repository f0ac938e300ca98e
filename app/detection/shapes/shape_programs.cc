// SPDX-License-Identifier: Apache-2.0
#include "app/detection/shapes/shape_programs.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::array<int64_t, 3> kCapacities{64, 16, 4};  // the largest first

DetectorConfig predicting_shapes(DetectorConfig config, int64_t places) {
  config.network.test.predicts = Predicts::shapes;
  config.network.test.shape_places = places;
  return config;
}

// Appends the rows of the first `count` places of an output [1, P, ..], if there is such an output.
void append_rows(std::vector<float>& rows, const PredictedTensors& results, const char* name,
                 std::size_t count) {
  const auto found = results.find(name);
  if (found == results.end()) return;
  const Tensor& output = found->second;
  const int64_t row = output.count() / output.desc.dims.at(1);
  const auto* numbers = output.as<float>();
  rows.insert(rows.end(), numbers, numbers + static_cast<int64_t>(count) * row);
}

}  // namespace

std::vector<ShapeRun> shape_runs(std::size_t boxes) {
  std::vector<ShapeRun> runs;
  for (std::size_t first = 0; first < boxes;) {
    const std::size_t left = boxes - first;
    const auto fits = [&](int64_t places) {
      return 4 * left > 3 * static_cast<std::size_t>(places);
    };
    const auto* const chosen = std::find_if(kCapacities.begin(), kCapacities.end(), fits);
    const int64_t places = chosen == kCapacities.end() ? kCapacities.back() : *chosen;
    const std::size_t count = std::min(left, static_cast<std::size_t>(places));
    runs.push_back({places, first, count});
    first += count;
  }
  return runs;
}

ShapePrograms::ShapePrograms(DetectorConfig config, Session& session, std::size_t most)
    : config_(std::move(config)), session_(session) {
  for (const int64_t places : kCapacities)
    capacities_.push_back({places, RecentPrograms<SizedProgram>(std::max<std::size_t>(most, 2))});
}

std::size_t ShapePrograms::kept() const {
  std::size_t count = 0;
  for (const OfCapacity& capacity : capacities_) count += capacity.programs.count();
  return count;
}

// All programs share the memory of one. It differs from the memory of the step, which holds the
// feature maps.
const Program* ShapePrograms::memory() const {
  for (const OfCapacity& capacity : capacities_)
    if (const SizedProgram* const kept = capacity.programs.any()) return kept->program.get();
  return nullptr;
}

const SizedProgram& ShapePrograms::program_for(const PictureSize& padded, OfCapacity& capacity) {
  return capacity.programs.of(padded, [&] {
    return sized_program(predicting_shapes(config_, capacity.places), session_, padded, memory());
  });
}

// Each request is divided on its own, so that no bit depends on the number of replicas.
std::vector<HeadOutputs> ShapePrograms::run(const PictureSize& padded,
                                            std::span<const ShapeRequest> requests) {
  std::vector<HeadOutputs> outputs(requests.size());
  std::vector<std::vector<ShapeRun>> runs;
  std::vector<std::size_t> next(requests.size());
  for (const ShapeRequest& request : requests) {
    check(request.classes.size() == request.boxes.size(), request.boxes.size(),
          " boxes, but classes of ", request.classes.size());
    runs.push_back(shape_runs(request.boxes.size()));
  }
  for (OfCapacity& capacity : capacities_)
    for (;;) {
      std::vector<ShapeRun> now(requests.size());  // without boxes where no run is left
      bool any = false;
      for (std::size_t k = 0; k < requests.size(); ++k) {
        if (next[k] == runs[k].size() || runs[k][next[k]].places != capacity.places) continue;
        now[k] = runs[k][next[k]++];
        any = true;
      }
      if (!any) break;
      run_once(program_for(padded, capacity), requests, now, outputs);
    }
  return outputs;
}

void ShapePrograms::run_once(const SizedProgram& program, std::span<const ShapeRequest> requests,
                             std::span<const ShapeRun> runs, std::vector<HeadOutputs>& outputs) {
  int64_t places = 0;
  for (const ShapeRun& run : runs) places = std::max(places, run.places);
  const std::size_t count = places, replicas = session_.model().replicas;
  boxes_.assign(replicas * count * 4, 0);
  classes_.assign(replicas * count, 0);
  for (std::size_t k = 0; k < requests.size(); ++k)
    for (std::size_t i = 0; i < runs[k].count; ++i) {
      const Corners& box = requests[k].boxes[runs[k].first + i];
      std::copy(box.begin(), box.end(), &boxes_[4 * (k * count + i)]);
      classes_[k * count + i] = requests[k].classes[runs[k].first + i];
    }
  std::vector<Tensor> feeds;
  for (const Replicated& input : program.predictors.inputs)
    for (std::size_t k = 0; k < input.values.size(); ++k) {
      // A replica without a request gets the last request's maps.
      const ShapeRequest& request = requests[std::min(k, requests.size() - 1)];
      if (input.name == "boxes") {
        feeds.push_back({{DType::float32, {1, places, 4}}, &boxes_[4 * k * count]});
      } else if (input.name == "classes") {
        feeds.push_back({{DType::int64, {1, places}}, &classes_[k * count]});
      } else if (input.name == "im_info") {
        feeds.push_back({{DType::float32, {1, 3}}, const_cast<float*>(request.extent.data())});
      } else {
        const auto map = request.maps->find(input.name);
        check(map != request.maps->end(), "the heads have an input '", input.name,
              "', which the network of the boxes does not predict");
        feeds.push_back(map->second);
      }
    }
  const auto results = program.run(feeds, session_.run_options(0), requests.size());
  for (std::size_t k = 0; k < requests.size(); ++k) {
    append_rows(outputs[k].masks, results[k], "masks", runs[k].count);
    append_rows(outputs[k].heatmaps, results[k], "heatmaps", runs[k].count);
  }
}

}  // namespace lockstep
