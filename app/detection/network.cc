// SPDX-License-Identifier: Apache-2.0
#include "app/detection/network.h"

#include "builders/step/forward.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "models/detection/detector.h"

namespace lockstep {
namespace {

ModelFn network_of_size(const DetectorConfig& config, const PictureSize& size) {
  DetectorOptions part = config.network;
  part.shape.height = size.height;
  part.shape.width = size.width;
  part.train.ims_per_batch /= config.step.options.micro_batches;
  try {
    return detector(part);
  } catch (const Error& error) {
    rethrow_as(error, join(config.path, ": ", error.what()));
  }
}

}  // namespace

DetectorConfig on_one_replica(DetectorConfig config) {
  config.run.devices = devices_named("cpu");
  config.run.auxiliaries = {};
  config.run.threads = 0;
  const DataParallelOptions usual;
  config.step.packing = std::nullopt;
  config.step.buckets.clear();
  config.step.options.all_reduce = usual.all_reduce;
  config.step.options.deferred = false;
  config.step.options.micro_batches = 1;
  return config;
}

TrainingModel detector_step(const DetectorConfig& config, const PictureSize& trained,
                            const PictureSize& predicted, int processes) {
  const DataParallelOptions options = options_of(config.step, config.run, processes);
  const Optimizer optimizer = optimizer_of(config.optimizer, config.schedule.scale_momentum);
  const ModelFn train = network_of_size(config, trained);
  const ModelFn predict = network_of_size(config, predicted);
  const auto network = [&](Net& net) { net.training() ? train(net) : predict(net); };
  return build_data_parallel_model(all_ops(), network, optimizer, options);
}

// Each replica weights its own losses and divides by its own counts, so that a picture's losses do
// not depend on the other replicas.
TrainingModel detector_losses(const DetectorConfig& config, const PictureSize& size,
                              const TruthPlaces& places, int processes) {
  DetectorConfig one = config;
  one.step.options.micro_batches = 1;
  one.network.train.ims_per_batch = 1;
  one.network.train.shared_normalisers = false;
  one.network.shape.true_boxes = places.boxes;
  if (places.vertices > 0) one.network.shape.vertices = places.vertices;
  one.network.shape.proposals = one.network.test.proposal_limit;
  DataParallelOptions options = for_forward_only(options_of(one.step, one.run, processes));
  options.weighted = true;
  options.average = {};
  options.all_reduce.spec.reduction = Reduction::sum;
  return build_data_parallel_model(all_ops(), network_of_size(one, size), no_updates(), options);
}

TrainingModel detector_step(const DetectorConfig& config, const PictureSize& size, int processes) {
  return detector_step(config, size, size, processes);
}

}  // namespace lockstep
