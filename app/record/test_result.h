// SPDX-License-Identifier: Apache-2.0
// The result of a test on the held-out images.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "data/image.h"

namespace lockstep {

// A held-out image with the network's guess.
struct SamplePicture {
  Image image;  // possibly scaled down
  std::string label;
  std::string guess;
  float confidence = 0;  // in the guess
  int64_t index = 0;     // among the held-out images

  bool wrong() const { return label != guess; }
};

struct TestResult {
  int64_t hits = 0;
  int64_t pictures = 0;  // tested pictures
  double accuracy = 0;
  double loss = 0;                              // mean cross entropy
  std::vector<std::vector<int64_t>> confusion;  // [label][guess]
  // The most confident mistakes, then the least confident correct guesses.
  std::vector<SamplePicture> samples;
  std::vector<std::string> left_out;  // reasons why pictures cannot be read
};

// The number of images of a class, from its row of the confusion.
inline int64_t total(const std::vector<int64_t>& guesses) {
  return std::accumulate(guesses.begin(), guesses.end(), int64_t{0});
}

}  // namespace lockstep
