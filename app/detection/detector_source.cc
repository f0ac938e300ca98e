// SPDX-License-Identifier: Apache-2.0
#include "app/detection/detector_source.h"

#include <iostream>

#include "app/detection/network.h"
#include "models/detection/detector.h"

namespace lockstep {
SourcedModel detector_from(const DetectorConfig& config) {
  for (const DetectorNote& note : config.notes) std::cerr << "lockstep: " << note.text << "\n";
  TrainingModel step =
      detector_step(config, {config.network.shape.height, config.network.shape.width});
  for (const std::string& part : left_out_of(config.network))
    std::cerr << "lockstep: " << part << " is not in this version yet; the step leaves it out\n";
  BatchShares shares;
  shares.replicas = config.replicas();
  shares.parts = config.step.options.micro_batches;
  shares.batch = shares.replicas * config.network.train.ims_per_batch;
  return {{std::move(step)}, config.run, shares};
}

}  // namespace lockstep
