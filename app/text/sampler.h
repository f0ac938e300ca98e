// SPDX-License-Identifier: Apache-2.0
// Text written by a language model, character by character.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/text/vocabulary.h"
#include "graph/graph.h"
#include "runtime/tensor.h"

namespace lockstep {

struct SampleOptions {
  int64_t length = 400;
  double temperature = 0.8;  // 0: always the likeliest character
  uint64_t seed = 1;
  uint64_t draw = 0;  // each has random numbers of its own
};

// Runs the network's inference graph: feeds and results in the order of its inputs and outputs.
using InferenceFn = std::function<std::span<const Tensor>(std::span<const Tensor>)>;

class TextSampler {
 public:
  // `inference`: of a model like models/language.cc, whose inputs `fed` are fed by `run`. Throws
  // naming `what` for another network, or one of another vocabulary, which must outlive the
  // sampler.
  TextSampler(const Graph& inference, const std::vector<std::string>& fed,
              const Vocabulary& vocabulary, InferenceFn run, const std::string& what);

  // What comes after the prompt, which has at least one character, all of the vocabulary. The same
  // network, prompt and options give the same text.
  std::string after(const std::string& prompt, const SampleOptions& options);

 private:
  void read(const std::string& text);
  int64_t drawn(double temperature, double random) const;

  const Vocabulary& vocabulary_;
  InferenceFn run_;
  std::vector<Dims> dims_;                  // of the states
  std::vector<std::vector<float>> states_;  // after what has been read
  std::vector<float> prob_;                 // of the next character
};

}  // namespace lockstep
