// SPDX-License-Identifier: Apache-2.0
// The rows of a CSV file (RFC 4180): cells between commas, in quotes if they contain commas, quotes
// or line ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/arrays/stored_bytes.h"

namespace lockstep {

class CsvReader {
 public:
  // `file` must outlive this object.
  CsvReader(const StoredBytes& file, std::string path) : file_(file), path_(std::move(path)) {}

  // Reads the next row; returns false at the end. Throws, naming file and line, for quotes within
  // or behind a cell, for a quote that is not closed, and for an empty line before another row.
  bool next();
  const std::vector<std::string_view>& cells() const { return cells_; }  // until the next call
  // "x.csv:17"; the line where the row begins.
  std::string where() const;

 private:
  bool fill();
  bool read_row();
  void read_quoted();
  void read_plain();
  int peek();
  void end_cell();

  const StoredBytes& file_;
  std::string path_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;      // in the buffer
  int64_t file_at_ = 0;     // of the end of the buffer
  int64_t line_ = 1;        // of the next character
  int64_t row_line_ = 1;    // of the row's first character
  int64_t empty_line_ = 0;  // an empty line before this row; 0: none
  std::string text_;        // of the row's cells
  std::vector<std::size_t> ends_;
  std::vector<std::string_view> cells_;
};

}  // namespace lockstep
