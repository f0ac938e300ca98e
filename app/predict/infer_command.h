// SPDX-License-Identifier: Apache-2.0
// lockstep infer: what its tasks share.
#pragma once

#include <string>
#include <vector>

#include "app/detection/detector_config.h"
#include "graph/training.h"

namespace lockstep {

struct InferOptions {
  std::string source, weights, out;
  std::vector<std::string> pictures;
  int top = 1;             // classes
  double threshold = 0.7;  // of scores of objects
  // Of texts: characters to write, and how (app/text/sampler.h).
  int64_t length = 400;
  double temperature = 0.8;
  uint64_t seed = 1;
  std::vector<std::string> given = {};  // of the options that some kinds of networks do not read
};

// The file of classes, or of texts, in the folder of --out.
inline constexpr const char* kPredictions = "predictions.json";

struct DetectorRun {
  std::string folder;
  std::string weights;  // .safetensors, or a model.onnx, whose values are used
};

// Prints the objects in each picture; draws them and writes them as JSON into options.out, unless
// that is empty. An unreadable picture does not stop the others.
int find_in_pictures(DetectorConfig config, const DetectorRun& run, const InferOptions& options,
                     const std::vector<std::string>& files);

// Prints what a language model, whose values its inference graph contains, writes after each prompt
// file; writes it as JSON into options.out, unless that is empty. `path`: of the model, for errors.
// A file that cannot be continued does not stop the others.
int continue_texts(TrainingModel network, const std::string& path, const InferOptions& options);

}  // namespace lockstep
