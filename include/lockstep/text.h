// SPDX-License-Identifier: Apache-2.0
// Text for language models of characters: files, vocabulary, held-out parts, minibatches.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lockstep/loader.h"

namespace lockstep {

// Returns the paths of the files that `names` match, sorted, each once. A name is a file; a folder,
// for all files below it; or a pattern, in which * and ? match within one part of a path and **
// any number of folders. Folders and patterns do not match hidden files. `root` is the folder of
// relative names; "": the current folder. Throws for a name that matches no file.
std::vector<std::string> text_files_named(const std::vector<std::string>& names,
                                          const std::string& root);

// The files' bytes, one after the other.
class JoinedText {
 public:
  JoinedText() = default;
  // A text that comes from no file.
  static JoinedText of_bytes(std::string bytes) {
    JoinedText text;
    text.bytes_ = std::move(bytes);
    return text;
  }
  // Reads the files. Throws for a file that is missing or empty, and for a text that is too large
  // for the free memory.
  explicit JoinedText(const std::vector<std::string>& paths);

  const std::string& bytes() const { return bytes_; }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  int64_t files() const { return static_cast<int64_t>(starts_.size()); }
  // The file and line of a byte, for errors: "notes.txt:3".
  std::string where(int64_t position) const;

 private:
  struct Start {
    std::string path;
    int64_t first = 0;
  };
  std::string bytes_;
  std::vector<Start> starts_;
};

// The bytes of a text, numbered, for character models.
class Vocabulary {
 public:
  // The bytes that occur in the text, in order of their values. Throws for an empty text.
  explicit Vocabulary(const std::string& text);

  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  const std::string& bytes() const { return bytes_; }
  bool has(char byte) const { return ids_[static_cast<uint8_t>(byte)] >= 0; }
  // The number of a byte. The vocabulary must have the byte.
  uint8_t id(char byte) const { return static_cast<uint8_t>(ids_[static_cast<uint8_t>(byte)]); }
  char byte(int64_t id) const { return bytes_[id]; }

  // The text as numbers. Throws naming the position of a byte that the vocabulary lacks.
  std::vector<uint8_t> encode(const JoinedText& text) const;

 private:
  std::string bytes_;
  std::array<int16_t, 256> ids_{};  // -1: missing
};

// The characters `first` to `end` - 1 of a text.
struct TextRange {
  int64_t first = 0, end = 0;
  int64_t size() const { return end - first; }
  friend bool operator==(const TextRange&, const TextRange&) = default;
};

// The parts of a text for training and for tests.
struct TextSplit {
  std::vector<TextRange> training, held_out;
};

// Holds out every tenth block of 1,000 characters. The training ranges are between these blocks.
TextSplit split_text(int64_t size);
// One range for training, nothing held out: for texts whose held-out part is in other files.
TextSplit train_on_all(int64_t size);

int64_t characters_of(const std::vector<TextRange>& ranges);

// A row of held-out text. A model reads the characters first, first + 1, .., and predicts the next
// character after each. Predictions `from` to `end` count; earlier predictions only give context.
struct ScoredRow {
  int64_t first = 0, from = 0, end = 0;
  friend bool operator==(const ScoredRow&, const ScoredRow&) = default;
};

// Divides the ranges into rows so that each character is predicted once, from enough context,
// except the first character of the text. A row reads at most `length` characters. The first half
// only gives context if the text before the row is long enough.
std::vector<ScoredRow> scored_rows(const std::vector<TextRange>& ranges, int64_t length);

// ---- minibatches

struct TextBatchOptions {
  int64_t batch = 32;    // rows of a step
  int64_t length = 128;  // characters of a row
  // The rows of each batch that this source reads: one process's share.
  int64_t first = 0;
  int64_t count = -1;  // -1: to the end
  uint64_t seed = 1;
  std::string characters = "data", labels = "label";  // names of the tensors, int64 [rows, length]
};

// Minibatches of rows of text. The label of each character is the next character. A pass through
// the text visits its rows in a random order, which depends on the seed and the row's number alone.
class TextBatches final : public MinibatchSource {
 public:
  // `text`: the characters' numbers (Vocabulary::encode()); must outlive the source. Throws if all
  // ranges are shorter than a row.
  TextBatches(const std::vector<uint8_t>& text, const std::vector<TextRange>& ranges,
              const TextBatchOptions& options);
  ~TextBatches() override;

  const std::vector<MinibatchForm>& forms() const override;
  std::size_t form(int64_t) const override { return 0; }
  int64_t items() const override;
  void read(int64_t step, int64_t item, std::span<const Tensor> tensors) const override;

 private:
  struct Members;
  std::unique_ptr<Members> members_;
};

}  // namespace lockstep
