// What a test on the held-out pictures finds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/image.h"

namespace lockstep {

// A held-out picture with what the network says of it.
struct SamplePicture {
  Image image;  // perhaps smaller than what the network sees
  std::string label;
  std::string guess;
  float confidence = 0;  // in the guess
  int64_t index = 0;     // of the held-out pictures

  bool wrong() const { return label != guess; }
};

struct TestResult {
  int64_t hits = 0;
  double accuracy = 0;
  double loss = 0;                              // mean cross entropy
  std::vector<std::vector<int64_t>> confusion;  // [label][guess]
  // The mistakes that it was surest of, then the right ones that it was least sure of.
  std::vector<SamplePicture> samples;
};

}  // namespace lockstep
