#include "tools/detection/detector_source.h"

#include <iostream>

#include "builders/step/data_parallel.h"
#include "models/detection/detector.h"
#include "operators/all.h"
#include "tools/detection/types.h"

namespace lockstep {
namespace {

// Names that a file may hold but that no network has been written for yet.
void check_is_built(const DetectorConfig& config) {
  const DetectionModelOptions& model = config.network.model;
  const auto need = [&](bool holds, const char* key, const std::string& value) {
    supported(holds, config.origins.blame({key}, config.path), " ", value,
              " is not in this version yet");
  };
  need(model.type != "rfcn" && !detector_type(model.type)->is_hard_wired, "MODEL.TYPE", model.type);
  need(model.conv_body.rfind("VGG", 0) != 0, "MODEL.CONV_BODY", model.conv_body);
  const std::string& head = config.network.fast_rcnn.roi_box_head;
  need(head.rfind("VGG", 0) != 0, "FAST_RCNN.ROI_BOX_HEAD", head);
}

ModelFn network_of(const DetectorConfig& config) {
  check_is_built(config);
  for (const std::string& part : left_out_of(config.network))
    std::cerr << "lockstep: " << part << " is not in this version yet; the step leaves it out\n";
  try {
    // Detectors have fixed shapes: a graph's images are those of one part.
    DetectorOptions part = config.network;
    part.train.ims_per_batch /= config.step.options.micro_batches;
    return detector(part);
  } catch (const Error& error) {
    rethrow_as(error, join(config.path, ": ", error.what()));
  }
}

}  // namespace

SourcedModel detector_from(const DetectorConfig& config) {
  for (const DetectorNote& note : config.notes) std::cerr << "lockstep: " << note.text << "\n";
  const DataParallelOptions options = options_of(config.step, config.run.devices.list);
  BatchShares shares;
  shares.replicas = config.replicas();
  shares.parts = options.micro_batches;
  shares.batch = shares.replicas * config.network.train.ims_per_batch;
  const Optimizer optimizer = optimizer_of(config.optimizer, config.schedule.scale_momentum);
  return {{build_data_parallel_model(all_ops(), network_of(config), optimizer, options)},
          config.run,
          shares};
}

}  // namespace lockstep
