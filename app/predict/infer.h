// SPDX-License-Identifier: Apache-2.0
// The command line of `lockstep infer`, as tasks read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct InferOptions {
  std::string source, weights, out;
  std::vector<std::string>
      files;               // pictures, or texts; folders are not yet replaced by their files
  int top = 1;             // classes
  double threshold = 0.7;  // of scores of objects
  // Of texts: characters to write, and how (app/text/sampler.h).
  int64_t length = 400;
  double temperature = 0.8;
  uint64_t seed = 1;
  std::vector<std::string> given = {};  // of the options that not every task has
};

// The file of classes, or of texts, in the folder of --out.
inline constexpr const char* kPredictions = "predictions.json";

// The pictures that files and folders name; a folder means all pictures below it, in order of their
// names. Says which files of a folder were left out.
std::vector<std::string> pictures_named(const std::vector<std::string>& files);

}  // namespace lockstep
