// SPDX-License-Identifier: Apache-2.0
// Text written by a language model, character by character.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lockstep/graph.h"
#include "lockstep/tensor.h"
#include "lockstep/text.h"

namespace lockstep {

struct SampleOptions {
  int64_t length = 400;
  double temperature = 0.8;  // 0: always the likeliest character
  uint64_t seed = 1;
  uint64_t draw = 0;  // each draw has its own random numbers
};

// Runs the network's inference graph. Feeds are in the order of its inputs, results in the order of
// its outputs.
using InferenceFn = std::function<std::span<const Tensor>(std::span<const Tensor>)>;

class TextSampler {
 public:
  // `inference` is the graph of a model like models/language.cc; `run` feeds its inputs `fed`.
  // Throws naming `what` for another network or another vocabulary. `vocabulary` must outlive the
  // sampler.
  TextSampler(const Graph& inference, const std::vector<std::string>& fed,
              const Vocabulary& vocabulary, InferenceFn run, const std::string& what);

  // Continues the prompt, which has at least one character, and only characters of the vocabulary.
  // Equal networks, prompts and options give equal texts.
  std::string after(const std::string& prompt, const SampleOptions& options);

 private:
  void read(const std::string& text);
  int64_t drawn(double temperature, double random) const;

  const Vocabulary& vocabulary_;
  InferenceFn run_;
  std::vector<Dims> dims_;                  // of the states
  std::vector<std::vector<float>> states_;  // after the characters read so far
  std::vector<float> prob_;                 // of the next character
};

}  // namespace lockstep
