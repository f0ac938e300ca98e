// SPDX-License-Identifier: Apache-2.0
// Weights files of detectors: the facts of a configuration that they must agree with.
#pragma once

#include <string>
#include <vector>

#include "app/detection/config/detector_config.h"
#include "app/weights/match.h"
#include "lockstep/checkpoint.h"
#include "lockstep/processes.h"

namespace lockstep {

// Takes PIXEL_MEANS from the source of TRAIN.WEIGHTS, unless the file or the command line sets the
// key. Adds a note.
void infer_means(DetectorConfig& config);
// The means of the source of a weights file; empty if there is no such file, or if it says nothing.
std::vector<double> means_of_weights(const std::string& file);
// Takes means of the weights named by `of`, as infer_means() does.
void take_means(DetectorConfig& config, const std::vector<double>& means, const std::string& of);

// Takes rank 0's means, if TRAIN.WEIGHTS gave them, unless this process sets PIXEL_MEANS: other
// processes may lack the file.
void share_inferred_means(DetectorConfig& config, Comm& comm);
// Rank 0's means in every process.
std::vector<double> shared_means(Comm& comm, const std::vector<double>& means);

// The means in a checkpoint's metadata, unless a file or the command line sets PIXEL_MEANS; empty:
// none.
std::vector<double> means_to_continue_with(const DetectorConfig& config, const Metadata& saved);
// Takes these means instead of the means of TRAIN.WEIGHTS. The weights' file may be gone.
void continue_with_means(DetectorConfig& config, const Metadata& saved);

// Options for TRAIN.WEIGHTS, which may lack parts and have another number of classes.
WeightsOptions weights_to_start_from(const DetectorConfig& config);

// Options for the weights of a trained detector.
WeightsOptions trained_weights(const DetectorConfig& config, const std::string& path);

// Throws if TRAIN.FREEZE_AT or TRAIN.FREEZE_CONV_BODY freezes a body without weights.
void check_no_random_frozen(const DetectorConfig& config);

}  // namespace lockstep
