// SPDX-License-Identifier: Apache-2.0
// The bytes of a text, numbered: what a character model reads and predicts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/text/files.h"

namespace lockstep {

class Vocabulary {
 public:
  // The bytes that occur in the text, in order of their values.
  explicit Vocabulary(const std::string& text);

  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }
  const std::string& bytes() const { return bytes_; }
  bool has(char byte) const { return ids_[static_cast<uint8_t>(byte)] >= 0; }
  // Of a byte that it has.
  uint8_t id(char byte) const { return static_cast<uint8_t>(ids_[static_cast<uint8_t>(byte)]); }
  char byte(int64_t id) const { return bytes_[id]; }

  // The text as numbers. Throws naming the place of a byte that it lacks.
  std::vector<uint8_t> encode(const JoinedText& text) const;

 private:
  std::string bytes_;
  std::array<int16_t, 256> ids_{};  // -1: missing
};

}  // namespace lockstep
