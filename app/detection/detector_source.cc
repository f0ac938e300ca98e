// SPDX-License-Identifier: Apache-2.0
#include "app/detection/detector_source.h"

#include <iostream>

#include "app/detection/network.h"

namespace lockstep {
SourcedModel detector_from(const DetectorConfig& config) {
  for (const DetectorNote& note : config.notes) std::cerr << "lockstep: " << note.text << "\n";
  const LargeJitter& jitter = config.train.jitter;
  const PictureSize size{config.network.shape.height, config.network.shape.width};
  TrainingModel step =
      detector_step(config, jitter.on() ? PictureSize{jitter.height, jitter.width} : size, size, 1);
  BatchShares shares;
  shares.replicas = config.replicas();
  shares.parts = config.step.options.micro_batches;
  shares.batch = shares.replicas * config.network.train.ims_per_batch;
  return {{std::move(step)}, config.run, shares};
}

}  // namespace lockstep
