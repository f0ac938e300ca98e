// SPDX-License-Identifier: Apache-2.0
// A trained detector as a file for prediction: its graph takes pictures of any size, and its
// metadata says how to prepare a picture.
#pragma once

#include <string>

#include "app/detection/config/detector_config.h"
#include "app/detection/datasets/point_names.h"
#include "lockstep/training_model.h"

namespace lockstep {

// The configuration of a step whose prediction graph takes pictures of any size.
DetectorConfig with_open_prediction(DetectorConfig config);

// Replaces the prediction graph of a network with values. The new graph takes pictures of any size,
// padded as PictureRounds pads, or only pictures of the configuration's size (IMAGE).
void fit_for_export(TrainingModel& network, DetectorConfig config, bool any_size);

// The preparation of a picture, and the way from masks and heatmaps back into the picture, as JSON
// for the metadata `lockstep.picture`: see docs/detection.md.
std::string picture_rules(const DetectorConfig& config, const PointNames& points);

// The sections of the configuration that the network's metadata says the file leaves out, or "".
std::string left_out_of_file(const TrainingModel& network);

}  // namespace lockstep
