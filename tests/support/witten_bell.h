// SPDX-License-Identifier: Apache-2.0
// A counting model of text, used as a baseline. It counts the characters after each context of up
// to `order` characters and mixes them with shorter contexts by Witten and Bell's weights (1991).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lockstep::testing {

class WittenBell {
 public:
  // `characters`: the size of the vocabulary. The empty context falls back to a uniform
  // distribution.
  WittenBell(int order, int64_t characters);

  void count(std::string_view text);
  // The probability of `next` after `before`. Only the last `order` characters are used.
  double probability(std::string_view before, char next) const;
  // The bits of text[first, end). Each character is predicted from all characters before it in
  // `text`.
  double bits(std::string_view text, std::size_t first, std::size_t end) const;

 private:
  struct Context {
    int64_t seen = 0, kinds = 0;  // counts of characters after it: all, distinct
  };
  int order_;
  double characters_;
  // The key is the context's characters; for pairs, the next character as well.
  std::unordered_map<std::string, Context> contexts_;
  std::unordered_map<std::string, int64_t> pairs_;
};

}  // namespace lockstep::testing
