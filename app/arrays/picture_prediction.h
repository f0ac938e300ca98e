// SPDX-License-Identifier: Apache-2.0
// `lockstep infer` for a network on pictures with masks: a mask of each picture.
#pragma once

#include <string>

#include "app/arrays/trained_data.h"
#include "app/predict/infer.h"
#include "lockstep/training_model.h"

namespace lockstep {

// For each picture of options.files writes into options.out, at the picture's size, NAME.png, the
// mask with a palette, and NAME.overlay.jpg, the mask over the picture. An output with the shape of
// the network's picture becomes NAME.OUTPUT.png. The network sees the whole picture, scaled to the
// network's size.
int predict_pictures(const TrainingModel& network, const std::string& path, const TrainedData& data,
                     const InferOptions& options);

}  // namespace lockstep
