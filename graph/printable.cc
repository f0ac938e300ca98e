// SPDX-License-Identifier: Apache-2.0
#include "graph/printable.h"

#include <cstdint>

#include "lockstep/error.h"

namespace lockstep {
namespace {

// The code point at `text[0]` and its number of bytes; 0 bytes for invalid UTF-8.
struct Code {
  uint32_t value = 0;
  std::size_t bytes = 0;
};

Code first_code(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const std::size_t size = byte(0) >= 0xf8   ? 0
                           : byte(0) >= 0xf0 ? 4
                           : byte(0) >= 0xe0 ? 3
                           : byte(0) >= 0xc2 ? 2
                                             : 0;
  if (size == 0 || size > text.size()) return {};
  uint32_t value = byte(0) & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kLeast[size] || value > 0x10ffff || surrogate) return {};
  return {value, size};
}

bool is_control(uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

bool is_seen(uint32_t code) {
  const bool turns = (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                     (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || code == 0x061c;
  return !is_control(code) && !turns;
}

std::string escaped(std::string_view text, std::string_view keep, std::string_view also) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string to;
  to.reserve(text.size());
  while (!text.empty()) {
    const Code code = first_code(text);
    const std::size_t bytes = code.bytes > 0 ? code.bytes : 1;
    const char letter = text[0];
    if (bytes == 1 && also.find(letter) != also.npos) {
      to += '\\';
      to += letter;
    } else if (code.bytes > 0 &&
               (is_seen(code.value) || (bytes == 1 && keep.find(letter) != keep.npos))) {
      to += text.substr(0, bytes);
    } else if (letter == '\n' || letter == '\t' || letter == '\r') {
      to += letter == '\n' ? "\\n" : letter == '\t' ? "\\t" : "\\r";
    } else {
      for (char byte : text.substr(0, bytes)) {
        to += "\\x";
        to += kHex[static_cast<unsigned char>(byte) >> 4];
        to += kHex[static_cast<unsigned char>(byte) & 15];
      }
    }
    text.remove_prefix(bytes);
  }
  return to;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, "", ""); }
std::string printable_lines(std::string_view text) { return escaped(text, "\n", ""); }
std::string in_quotes(std::string_view text) { return '"' + escaped(text, "", "\"\\") + '"'; }

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return std::string(text.substr(0, most)) + "..";
}

std::string shell_word(std::string_view word) {
  constexpr const char* kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return std::string(word);
  std::string text = "'";
  for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string first_control(std::string_view text, std::string_view but) {
  while (!text.empty()) {
    const Code code = first_code(text);
    const std::size_t bytes = code.bytes > 0 ? code.bytes : 1;
    const std::string_view letter = text.substr(0, bytes);
    if (code.bytes > 0 && is_control(code.value) && but.find(letter) == but.npos)
      return printable(letter);
    text.remove_prefix(bytes);
  }
  return "";
}

void refuse_control(std::string_view text, std::string_view place, std::string_view but) {
  const std::string found = first_control(text, but);
  if (found.empty()) return;
  constexpr std::size_t kShown = 80;
  fail(place, ": ", in_quotes(text.substr(0, kShown)), text.size() > kShown ? ".." : "",
       " contains the control character ", found, ", which is not allowed here; remove it");
}

}  // namespace lockstep
