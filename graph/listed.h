// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "graph/printable.h"

namespace lockstep {

// "a, b, c"
inline std::string listed(const std::vector<std::string>& words, std::string_view between = ", ") {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += between;
    text += words[i];
  }
  return text;
}

// "a, b and 3 more": the first `most` of them, printable.
inline std::string first_listed(std::vector<std::string> words, std::size_t most) {
  const std::size_t more = words.size() - std::min(words.size(), most);
  words.resize(words.size() - more);
  for (std::string& word : words) word = printable(word);
  return listed(words) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

// "a, b or c", with " or " as `last`.
inline std::string listed_before(std::vector<std::string> words, std::string_view last) {
  if (words.size() < 2) return listed(words);
  const std::string end = words.back();
  words.pop_back();
  return listed(words).append(last) + end;
}

// -- tables whose rows have a member `name`

template <class Rows>
std::vector<std::string> names_of_rows(const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.name);
  return names;
}

// Null for an unknown name.
template <class Rows>
auto row_named(const Rows& rows, std::string_view name) -> decltype(&*std::begin(rows)) {
  for (const auto& row : rows)
    if (name == row.name) return &row;
  return nullptr;
}

// "a: its meaning; b: its meaning", with ": " between a name and its meaning.
template <class Rows>
std::string meanings_of_rows(const Rows& rows, std::string_view between) {
  std::vector<std::string> texts;
  for (const auto& row : rows)
    texts.push_back(std::string(row.name).append(between).append(row.meaning));
  return listed(texts, "; ");
}

}  // namespace lockstep
