// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "data/arrays/arrays.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class ColumnsText {
 public:
  explicit ColumnsText(std::string_view text) : left_(text) {}

  bool is_done() {
    while (!left_.empty() && (left_[0] == ' ' || left_[0] == '\n')) left_.remove_prefix(1);
    return left_.empty();
  }
  bool take(char letter) {
    if (is_done() || left_[0] != letter) return false;
    left_.remove_prefix(1);
    return true;
  }
  void expect(char letter) {
    if (!take(letter)) refuse(join("'", std::string(1, letter), "'"));
  }
  std::string name() {
    std::string name;
    if (take('"')) {
      while (!left_.empty() && left_[0] != '"') {
        name += left_[0];
        left_.remove_prefix(1);
      }
      expect('"');
      return name;
    }
    constexpr std::string_view kEnds = ":;,]\n";
    is_done();
    // Brackets belong to names such as x[0], but a list begins with one.
    for (int depth = 0; !left_.empty(); left_.remove_prefix(1)) {
      if (kEnds.find(left_[0]) != kEnds.npos && !(left_[0] == ']' && depth > 0)) break;
      if (left_[0] == '[') ++depth;
      if (left_[0] == ']') --depth;
      name += left_[0];
    }
    while (name.ends_with(' ')) name.pop_back();
    if (name.empty()) refuse("a name");
    return name;
  }

 private:
  [[noreturn]] void refuse(const std::string& wanted) {
    fail("expected ", wanted, " ",
         left_.empty() ? std::string("at the end")
                       : join("before '", printable(left_.substr(0, 20)), "'"),
         "; columns are written as \"x: [a, b, c]; y: price\"");
  }

  std::string_view left_;
};

}  // namespace

std::map<std::string, std::vector<std::string>> parse_array_columns(const std::string& text) {
  std::map<std::string, std::vector<std::string>> columns;
  for (ColumnsText left(text); !left.is_done();) {
    const std::string array = left.name();
    check(!columns.contains(array), "the columns of '", array, "' are given twice");
    left.expect(':');
    std::vector<std::string>& names = columns[array];
    if (left.take('[')) {
      do names.push_back(left.name());
      while (left.take(','));
      left.expect(']');
    } else {
      names.push_back(left.name());
    }
    if (!left.is_done()) left.expect(';');
  }
  return columns;
}

}  // namespace lockstep
