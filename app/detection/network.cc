// SPDX-License-Identifier: Apache-2.0
#include "app/detection/network.h"

#include "app/detection/types.h"
#include "lockstep/data_parallel.h"
#include "lockstep/operators.h"
#include "models/detection/catalogue.h"
#include "models/detection/detector.h"

namespace lockstep {
namespace {

// Refuses names that a file may have but that have no implementation yet.
void check_is_built(const DetectorConfig& config) {
  const DetectionModelOptions& model = config.network.model;
  const auto need = [&](bool holds, const char* key, const std::string& value) {
    supported(holds, config.origins.blame({key}, config.path), " ", value,
              " is not in this version yet");
  };
  need(model.type != "rfcn" && !detector_type(model.type)->is_hard_wired, "MODEL.TYPE", model.type);
  const BodyFunction* const body = function_in(body_functions(), model.conv_body);
  need(!body || body->is_built(), "MODEL.CONV_BODY", model.conv_body);
  const std::string& name = config.network.fast_rcnn.roi_box_head;
  const BoxHeadFunction* const head = function_in(box_head_functions(), name);
  need(!head || head->is_built(), "FAST_RCNN.ROI_BOX_HEAD", name);
}

ModelFn network_of_size(const DetectorConfig& config, const PictureSize& size) {
  check_is_built(config);
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

TrainingModel detector_step(const DetectorConfig& config, const PictureSize& trained,
                            const PictureSize& predicted, int processes) {
  const DataParallelOptions options = options_of(config.step, config.run, processes);
  const Optimizer optimizer = optimizer_of(config.optimizer, config.schedule.scale_momentum);
  const ModelFn train = network_of_size(config, trained);
  const ModelFn predict = network_of_size(config, predicted);
  const auto network = [&](Net& net) { net.training() ? train(net) : predict(net); };
  return build_data_parallel_model(all_ops(), network, optimizer, options);
}

TrainingModel detector_step(const DetectorConfig& config, const PictureSize& size, int processes) {
  return detector_step(config, size, size, processes);
}

}  // namespace lockstep
