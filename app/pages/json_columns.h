// SPDX-License-Identifier: Apache-2.0
// JSON of long arrays, written without a tree of values, and tables of what repeats in them.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "app/inspect/json_lines.h"

namespace lockstep {

// The entries of a table in the order in which they were first seen.
template <class Entry>
class JsonTable {
 public:
  int index_of(const Entry& entry) {
    const auto [found, is_new] = indices_.emplace(entry, static_cast<int>(entries_.size()));
    if (is_new) entries_.push_back(entry);
    return found->second;
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::unordered_map<Entry, int> indices_;
  std::vector<Entry> entries_;
};

// One object of columns.
class JsonColumns {
 public:
  void begin() { text_ += '{', first_ = true; }
  void end() { text_ += '}', first_ = false; }
  void begin_object(std::string_view name) {
    add_name(name);
    begin();
  }
  void field(std::string_view name, const Json& value) {
    add_name(name);
    text_ += json_line(value);
  }
  void numbers(std::string_view name, const std::vector<int>& values) {
    list(name, values.size(), [&](std::size_t i) { add_integer(values[i]); });
  }
  // Whole numbers are written as such. JSON has no infinity, which a forged shape may need.
  void numbers(std::string_view name, const std::vector<double>& values) {
    list(name, values.size(), [&](std::size_t i) {
      const double value = values[i];
      if (value == std::floor(value) && std::abs(value) < 0x1p53)
        add_integer(static_cast<int64_t>(value));
      else
        text_ += json_line(Json(std::isfinite(value) ? value : 1e300));
    });
  }
  void texts(std::string_view name, const std::vector<std::string>& values) {
    list(name, values.size(), [&](std::size_t i) { text_ += json_line(Json(values[i])); });
  }
  const std::string& text() const { return text_; }

 private:
  template <class Add>
  void list(std::string_view name, std::size_t count, const Add& add) {
    add_name(name);
    text_ += '[';
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text_ += ',';
      add(i);
    }
    text_ += ']';
  }
  void add_integer(int64_t value) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
  void add_name(std::string_view name) {
    if (!first_) text_ += ',';
    first_ = false;
    text_ += '\n';
    text_ += json_line(Json(name));
    text_ += ':';
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace lockstep
