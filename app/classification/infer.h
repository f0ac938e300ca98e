// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/classification/trained_classifier.h"
#include "app/predict/infer.h"

namespace lockstep {

// Prints the classes of each picture, the likeliest first; writes them as JSON into options.out,
// unless that is empty. An unreadable picture does not stop the others.
int classify_pictures(TrainedClassifier network, const InferOptions& options);

}  // namespace lockstep
