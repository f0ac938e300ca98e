// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/classification/trained_classifier.h"
#include "app/predict/infer.h"

namespace lockstep {

// Prints the classes of each picture, likeliest first. Writes them as JSON into the folder
// options.out unless it is empty. An unreadable picture does not stop the others.
int classify_pictures(TrainedClassifier network, const InferOptions& options);

}  // namespace lockstep
