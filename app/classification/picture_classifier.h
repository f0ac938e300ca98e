// SPDX-License-Identifier: Apache-2.0
// Classification of images by a trained network.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/classification/trained_classifier.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/states.h"
#include "runtime/exec/workers.h"

namespace lockstep {

class PictureClassifier {
 public:
  explicit PictureClassifier(TrainedClassifier network);

  struct Guess {
    std::string name;
    float confidence = 0;
  };
  // Best guess first. Reads the file as training reads held-out images.
  std::vector<Guess> classify(const std::string& picture);

 private:
  TrainedClassifier network_;
  States no_state_;
  Workers workers_;
  std::unique_ptr<Executor> executor_;
  Literal input_;  // float32, or uint8 if the network's input is uint8
};

}  // namespace lockstep
