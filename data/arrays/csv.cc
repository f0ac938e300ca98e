// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/csv.h"

#include <algorithm>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kCsvChunk = int64_t{1} << 20;
constexpr std::size_t kLongestRow = std::size_t{64} << 20;  // a quote that is never closed
constexpr int kCsvEnd = -1;
constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";  // spreadsheets write it at the beginning

}  // namespace

std::string CsvReader::where() const { return join(path_, ":", row_line_); }

bool CsvReader::fill() {
  const int64_t now = std::min(kCsvChunk, file_.size() - file_at_);
  if (now == 0) return false;
  buffer_.resize(now);
  file_.read(file_at_, std::as_writable_bytes(std::span(buffer_)));
  const bool is_marked =
      file_at_ == 0 && std::string_view(buffer_.data(), now).starts_with(kUtf8Mark);
  at_ = is_marked ? kUtf8Mark.size() : 0;
  file_at_ += now;
  return at_ < buffer_.size() || fill();
}

int CsvReader::peek() {
  if (at_ == buffer_.size() && !fill()) return kCsvEnd;
  return static_cast<unsigned char>(buffer_[at_]);
}

void CsvReader::end_cell() { ends_.push_back(text_.size()); }

// Reads the text behind an opening quote.
void CsvReader::read_quoted() {
  for (;;) {
    const int letter = peek();
    if (letter == kCsvEnd || text_.size() >= kLongestRow) fail(where(), ": a quote is not closed");
    ++at_;
    if (letter == '\n') ++line_;
    if (letter == '"') {
      if (peek() != '"') return;
      ++at_;
    }
    text_ += static_cast<char>(letter);
  }
}

// Appends the text before the next comma, quote or line end.
void CsvReader::read_plain() {
  const char* const begin = buffer_.data() + at_;
  const char* const end = buffer_.data() + buffer_.size();
  const char* const stop = std::find_if(begin, end, [](char letter) {
    return letter == ',' || letter == '\n' || letter == '\r' || letter == '"';
  });
  text_.append(begin, stop);
  at_ += stop - begin;
  if (text_.size() >= kLongestRow) fail(where(), ": a row of more than ", kLongestRow, " bytes");
}

// Reads the cells of a row; false at the end of the file.
bool CsvReader::read_row() {
  text_.clear();
  ends_.clear();
  row_line_ = line_;
  if (peek() == kCsvEnd) return false;
  bool begins = true, is_quoted = false;  // a cell
  for (int letter = peek(); letter != kCsvEnd; letter = peek()) {
    if (letter == ',') {
      ++at_;
      end_cell();
      begins = true;
      is_quoted = false;
    } else if (letter == '\n' || letter == '\r') {
      ++at_;
      if (letter == '\r' && peek() == '\n') ++at_;
      ++line_;
      break;
    } else if (letter == '"' && begins) {
      ++at_;
      begins = false;
      is_quoted = true;
      read_quoted();
    } else if (is_quoted) {
      fail(where(), ": a closing quote should be followed by a comma or the line's end");
    } else if (letter == '"') {
      fail(where(), ": a quote within a cell that does not begin with a quote");
    } else {
      begins = false;
      read_plain();
    }
  }
  if (ends_.empty() && begins) return true;  // an empty line
  end_cell();
  return true;
}

bool CsvReader::next() {
  empty_line_ = 0;
  for (;;) {
    if (!read_row()) return false;
    if (!ends_.empty()) break;
    if (empty_line_ == 0) empty_line_ = row_line_;
  }
  if (empty_line_ != 0) fail(path_, ":", empty_line_, ": an empty line between rows");
  cells_.clear();
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    cells_.push_back(std::string_view(text_).substr(begin, end - begin));
    begin = end;
  }
  return true;
}

}  // namespace lockstep
