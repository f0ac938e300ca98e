// SPDX-License-Identifier: Apache-2.0
#include "lockstep/text.h"

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// The character as '\n', 'A' or byte 0xE2.
std::string shown(char byte) {
  const std::string seen = printable({&byte, 1});
  if (static_cast<uint8_t>(byte) < 0x80) return "'" + seen + "'";
  constexpr const char* kDigits = "0123456789ABCDEF";
  const auto value = static_cast<uint8_t>(byte);
  return join("byte 0x", std::string(1, kDigits[value >> 4]), std::string(1, kDigits[value & 15]));
}

}  // namespace

Vocabulary::Vocabulary(const std::string& text) {
  ids_.fill(-1);
  for (char byte : text) ids_[static_cast<uint8_t>(byte)] = 0;
  for (std::size_t value = 0; value < ids_.size(); ++value) {
    if (ids_[value] < 0) continue;
    ids_[value] = static_cast<int16_t>(bytes_.size());
    bytes_ += static_cast<char>(value);
  }
  check(!bytes_.empty(), "a vocabulary needs text, but the text is empty");
}

std::vector<uint8_t> Vocabulary::encode(const JoinedText& text) const {
  std::vector<uint8_t> ids;
  ids.reserve(text.bytes().size());
  for (char byte : text.bytes()) {
    if (!has(byte))
      fail(text.where(static_cast<int64_t>(ids.size())), ": contains ", shown(byte),
           ", which is not in the vocabulary: the network was trained on text without it");
    ids.push_back(id(byte));
  }
  return ids;
}

}  // namespace lockstep
