// SPDX-License-Identifier: Apache-2.0
// A file's learning rate is for the number of images of its step. For another number, the linear
// rule preserves the effect of each image: the rate grows with the images, iterations shrink.
#include "app/detection/config/lr_scaling.h"

#include <cmath>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr double kMostIterations = 0x1p53;  // larger whole numbers are not exact in a double

// Scales keys of SOLVER and describes the changes.
class BatchScale {
 public:
  BatchScale(DetectorConfig& config, double factor) : config_(config), factor_(factor) {}

  void rate(const std::string& key, double& value) {
    const double before = value;
    value *= factor_;
    check(std::isfinite(value), at(key), " ", before, " is too large to be scaled by ", factor_);
    tell(key, before, value);
  }
  void iterations(const std::string& key, int64_t& value, int64_t least) {
    const int64_t before = value;
    const double scaled = std::round(static_cast<double>(value) / factor_);
    check(scaled <= kMostIterations, at(key), " ", before, " is too large to be scaled by 1/",
          factor_);
    value = std::max(least, static_cast<int64_t>(scaled));
    tell(key, before, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string at(const std::string& key) const {
    return config_.origins.blame({key}, config_.path);
  }
  template <class T>
  void tell(const std::string& key, T before, T now) {
    if (before == now) return;
    const std::string name = key.substr(key.find('.') + 1);
    text_ += join(text_.empty() ? "" : ", ", name, " ", before, " -> ", now);
    std::string& place = config_.origins.places[key];
    place = (place.empty() ? "default" : place) + ", scaled by SOLVER.SCALE_TO_BATCH";
  }

  DetectorConfig& config_;
  double factor_;
  std::string text_;
};

// Scales rates, steps and iterations; STEP_SIZE only if the policy reads STEP_SIZE.
std::string scale_solver(DetectorConfig& config, double factor) {
  LrSchedule& schedule = config.schedule;
  BatchScale scale(config, factor);
  scale.rate("SOLVER.BASE_LR", schedule.base_lr);
  for (double& rate : schedule.lrs) scale.rate("SOLVER.LRS", rate);
  for (int64_t& step : schedule.steps) scale.iterations("SOLVER.STEPS", step, 0);
  if (schedule.policy == "step") scale.iterations("SOLVER.STEP_SIZE", schedule.step_size, 1);
  scale.iterations("SOLVER.WARM_UP_ITERS", schedule.warm_up_iters, 0);
  scale.iterations("SOLVER.MAX_ITER", schedule.max_iter, 1);
  return scale.text();
}

}  // namespace

ImagesOfStep images_of_file(const DetectorConfig& config) {
  const bool by_devices = config.origins.is_set("DEVICES") && !config.origins.is_set("NUM_GPUS");
  return {by_devices ? config.replicas() : config.num_gpus, config.network.train.ims_per_batch};
}

void fit_to_batch(DetectorConfig& config, const ImagesOfStep& of_file, int processes) {
  const ImagesOfStep now{config.replicas() * processes, config.network.train.ims_per_batch};
  if (now.all() == of_file.all()) return;
  const std::string what =
      join(config.path, ": a step has ", now.all(), now.all() == 1 ? " image, " : " images, ",
           now.replicas, now.replicas == 1 ? " replica" : " replicas", " x TRAIN.IMS_PER_BATCH ",
           now.of_each, ", instead of the file's ", of_file.all());
  if (config.scale_to_batch) {
    const double factor = static_cast<double>(now.all()) / static_cast<double>(of_file.all());
    config.notes.push_back({DetectorNoteKind::batch, join(what, "; by SOLVER.SCALE_TO_BATCH: ",
                                                          scale_solver(config, factor))});
    return;
  }
  // A rate on the command line was chosen for the devices there.
  if (config.origins.of("SOLVER.BASE_LR").starts_with("command line")) return;
  config.misfit =
      join(what, ", which SOLVER.BASE_LR ", config.schedule.base_lr,
           " is for; set SOLVER.SCALE_TO_BATCH true, or SOLVER.BASE_LR on the command line");
  config.notes.push_back({DetectorNoteKind::batch, config.misfit});
}

}  // namespace lockstep
