// SPDX-License-Identifier: Apache-2.0
// The text of a configuration: read, encoded, and split into training text and held-out text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/text/config.h"
#include "lockstep/text.h"

namespace lockstep {

class TextCorpus {
 public:
  // Throws naming the key, and the file or the position of a character, that does not fit.
  // `vocabulary` is a trained network's; empty: the vocabulary of DATA.FILES.
  explicit TextCorpus(const TextConfig& config, const std::string& vocabulary = "");

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  const std::vector<uint8_t>& training() const { return training_; }
  const std::vector<TextRange>& training_ranges() const { return split_.training; }
  // The held-out text with the characters before it, and the ranges that count.
  const std::vector<uint8_t>& held_out() const { return testing_.empty() ? training_ : testing_; }
  const std::vector<TextRange>& held_out_ranges() const { return held_out_; }

  std::string training_digest() const { return training_digest_; }
  std::string held_out_digest() const { return held_out_digest_; }
  std::string text() const;  // for people: "12 files, 812,345 characters, .."

 private:
  std::optional<Vocabulary> vocabulary_;
  std::vector<uint8_t> training_, testing_;
  TextSplit split_;
  std::vector<TextRange> held_out_;
  int64_t files_ = 0;
  std::string training_digest_, held_out_digest_;
};

}  // namespace lockstep
