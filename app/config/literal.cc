// SPDX-License-Identifier: Apache-2.0
#include "app/config/literal.h"

#include "lockstep/error.h"

namespace lockstep {
namespace {

// Reads one literal from left to right.
class LiteralReader {
 public:
  explicit LiteralReader(const std::string& text) : text_(text) {}

  std::vector<LiteralItem> list() {
    skip_spaces();
    const char opening = take();
    const char closing = opening == '(' ? ')' : ']';
    std::vector<LiteralItem> items;
    bool ends_with_comma = false;
    for (skip_spaces(); peek() != closing; skip_spaces()) {
      check(items.empty() || ends_with_comma, "a comma is missing before '", rest(), "'");
      items.push_back(item());
      skip_spaces();
      ends_with_comma = peek() == ',';
      if (ends_with_comma) take();
    }
    take();
    skip_spaces();
    check(at_ == text_.size(), "'", rest(), "' follows the end of the list");
    check(opening == '[' || items.size() != 1 || ends_with_comma,
          "a list of one value needs a comma: (", items.empty() ? "" : items[0].text, ",)");
    return items;
  }

 private:
  LiteralItem item() {
    check(peek() != '(' && peek() != '[', "a list cannot contain a list");
    if (peek() == 'u' && at_ + 1 < text_.size() &&
        (text_[at_ + 1] == '\'' || text_[at_ + 1] == '"'))
      ++at_;  // Python 2's u'..'
    if (peek() == '\'' || peek() == '"') return {quoted(), true};
    const std::size_t start = at_;
    at_ = std::min(text_.find_first_of(",)] \t\n", at_), text_.size());
    check(at_ > start, "a value is missing before '", rest(), "'");
    return {text_.substr(start, at_ - start)};
  }

  std::string quoted() {
    const char quote = take();
    std::string value;
    while (peek() != quote) {
      const char letter = take();
      value += letter == '\\' ? take() : letter;
    }
    take();
    return value;
  }

  void skip_spaces() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }
  char peek() const {
    check(at_ < text_.size(), "the list has no end");
    return text_[at_];
  }
  char take() {
    const char letter = peek();
    ++at_;
    return letter;
  }
  std::string rest() const { return text_.substr(at_); }

  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_list_literal(const std::string& text) {
  const std::size_t start = text.find_first_not_of(" \t\n");
  return start != text.npos && (text[start] == '(' || text[start] == '[');
}

std::vector<LiteralItem> parse_list_literal(const std::string& text) {
  check(is_list_literal(text), "it does not begin with ( or [");
  return LiteralReader(text).list();
}

}  // namespace lockstep
