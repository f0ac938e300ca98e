// SPDX-License-Identifier: Apache-2.0
// A counting model of text, as a yardstick: the characters that followed each context of up to
// `order` characters, mixed with those of shorter contexts by Witten and Bell's weights (1991).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lockstep::testing {

class WittenBell {
 public:
  // `characters`: of the vocabulary, which the empty context falls back to, each as likely.
  WittenBell(int order, int64_t characters);

  void count(std::string_view text);
  // The probability of `next` after `before`, of which the last `order` characters matter.
  double probability(std::string_view before, char next) const;
  // Of text[first, end), each character after all that stand before it in `text`.
  double bits(std::string_view text, std::size_t first, std::size_t end) const;

 private:
  struct Context {
    int64_t seen = 0, kinds = 0;  // characters after it, and how many different ones
  };
  int order_;
  double characters_;
  // By context, whose characters are the key; pairs: with the next character behind.
  std::unordered_map<std::string, Context> contexts_;
  std::unordered_map<std::string, int64_t> pairs_;
};

}  // namespace lockstep::testing
