// lockstep infer: what its tasks share.
#pragma once

#include <string>
#include <vector>

#include "tools/detection/detector_config.h"

namespace lockstep {

struct InferOptions {
  std::string source, weights, out;
  std::vector<std::string> pictures;
  int top = 1;             // classes
  double threshold = 0.7;  // of scores of objects
};

struct DetectorRun {
  std::string folder, weights;
};

// Prints the objects in each picture; draws them and writes them as JSON into options.out, unless
// that is empty. An unreadable picture does not stop the others.
int find_in_pictures(DetectorConfig config, const DetectorRun& run, const InferOptions& options,
                     const std::vector<std::string>& files);

}  // namespace lockstep
