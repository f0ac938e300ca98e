// SPDX-License-Identifier: Apache-2.0
#include "graph/nearest.h"

#include <algorithm>
#include <cctype>

namespace lockstep {
namespace {

char small(char letter) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return small(x) == small(y); });
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  return nearest(word, candidates, word.size() / 3 + 1);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates,
                    std::size_t most) {
  constexpr std::size_t kBeginning = 4;  // a shorter prefix matches too much
  for (const std::string& candidate : candidates)
    if (same_but_for_case(word, candidate)) return candidate;
  if (word.size() >= kBeginning)
    for (const std::string& candidate : candidates)
      if (candidate.starts_with(word)) return candidate;
  std::string best;
  std::size_t best_distance = most + 1;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j < row.size(); ++j) {
        std::size_t substituted =
            diagonal + (small(word[i - 1]) == small(candidate[j - 1]) ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace lockstep
