// SPDX-License-Identifier: Apache-2.0
// The command line of `lockstep infer`, as tasks read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct InferOptions {
  std::string source, weights, out;
  std::vector<std::string> files;  // pictures or texts; folders are not expanded yet
  int top = 1;                     // number of classes to print
  double threshold = 0.7;          // smallest score of an object
  // For texts: number of characters to write, and sampling (app/text/sampler.h).
  int64_t length = 400;
  double temperature = 0.8;
  uint64_t seed = 1;
  std::vector<std::string> given = {};  // given options that only some tasks have
};

// The file of predicted classes or texts in the folder --out.
inline constexpr const char* kPredictions = "predictions.json";

// Expands folders: a folder becomes all pictures below it, in order of their names. Prints which
// files of a folder are left out.
std::vector<std::string> pictures_named(const std::vector<std::string>& files);

}  // namespace lockstep
