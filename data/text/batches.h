// SPDX-License-Identifier: Apache-2.0
// The minibatches of a language model: rows of a text, each character with the next one as its
// label.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/labelled_images.h"
#include "data/minibatch.h"
#include "data/text/split.h"

namespace lockstep {

struct TextBatchOptions {
  int64_t batch = 32;    // rows of a step
  int64_t length = 128;  // characters of a row
  // The part of each batch to read: one process's share.
  int64_t first = 0;
  int64_t count = -1;  // -1: to the end
  uint64_t seed = 1;
  std::string characters = "data", labels = "label";  // names of the tensors, int64 [rows, length]
};

// A pass through the text visits its places in a random order, one row's length apart, from a
// beginning of its own: a function of (seed, row number) alone.
class TextOrder {
 public:
  // Rows of `length` characters and the one after them, each within one of the ranges. Throws if
  // all ranges are shorter.
  TextOrder(const std::vector<TextRange>& ranges, int64_t length, uint64_t seed);
  // The first character of a row; `number` counts rows from the start of training. Thread-safe.
  int64_t start(int64_t number) const;

  int64_t starts() const { return starts_; }  // places where a row may begin
  int64_t rows_of_pass() const { return slots_; }

 private:
  std::vector<TextRange> ranges_;  // of places where a row may begin
  int64_t length_, starts_ = 0, slots_;
  uint64_t seed_;
  EpochOrder order_;
};

class TextBatches final : public MinibatchSource {
 public:
  // `text`, as numbers of characters, must outlive it.
  TextBatches(const std::vector<uint8_t>& text, const std::vector<TextRange>& ranges,
              const TextBatchOptions& options);

  const std::vector<MinibatchForm>& forms() const override { return forms_; }
  std::size_t form(int64_t) const override { return 0; }
  int64_t items() const override { return options_.count; }
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override;

 private:
  const std::vector<uint8_t>& text_;
  TextBatchOptions options_;
  TextOrder order_;
  std::vector<MinibatchForm> forms_;
};

}  // namespace lockstep
