// SPDX-License-Identifier: Apache-2.0
#include "data/voc/xml.h"

#include <algorithm>
#include <charconv>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int kDeepestXml = 32;  // annotations are 4 deep
constexpr std::size_t kMostXml = std::size_t{16} << 20;

bool is_xml_space(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

bool is_xml_name(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return std::isalnum(byte) != 0 || letter == '_' || letter == '-' || letter == '.' ||
         letter == ':' || byte >= 0x80;
}

std::string utf8_of(uint32_t code) {
  const auto byte = [](uint32_t bits) { return static_cast<char>(bits); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  if (code < 0x10000)
    return {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  return {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)),
          byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
}

class XmlParser {
 public:
  XmlParser(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  XmlElement document() {
    if (text_.size() > kMostXml)
      refuse("has ", text_.size(), " bytes, an annotation has at most ", kMostXml);
    if (text_.find('\0') != text_.npos) refuse("is not XML in UTF-8: it contains a zero byte");
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    skip_between();
    if (!next_is("<")) refuse("is not XML: an element should begin here, is ", here());
    XmlElement root = element(1);
    skip_between();
    if (at_ < text_.size()) refuse("continues after </", root.name, ">: ", here());
    return root;
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(name_, ":", line_, ": ", parts...);
  }

  bool next_is(std::string_view wanted) const {
    return std::string_view(text_).substr(at_).starts_with(wanted);
  }
  std::string here() const {
    constexpr std::size_t kMost = 20;
    if (at_ >= text_.size()) return "the end of the file";
    return in_quotes(text_.substr(at_, kMost));
  }
  void step(std::size_t count) {
    const auto from = text_.begin() + static_cast<std::ptrdiff_t>(at_);
    line_ += std::count(from, from + static_cast<std::ptrdiff_t>(count), '\n');
    at_ += count;
  }
  void skip_spaces() {
    while (at_ < text_.size() && is_xml_space(text_[at_])) step(1);
  }
  void skip_to(std::string_view start, std::string_view end, const char* what) {
    const std::size_t found = text_.find(end, at_ + start.size());
    if (found == text_.npos) refuse("the ", what, " that begins here does not end");
    step(found + end.size() - at_);
  }
  // Skips a comment or an instruction such as <?xml ..?>.
  bool skip_aside() {
    if (next_is("<!--")) {
      skip_to("<!--", "-->", "comment");
    } else if (next_is("<?")) {
      skip_to("<?", "?>", "instruction");
    } else if (next_is("<!")) {
      refuse("XML with <!DOCTYPE or <![CDATA[ is not read; annotations need neither");
    } else {
      return false;
    }
    return true;
  }
  void skip_between() {
    do skip_spaces();
    while (skip_aside());
  }

  std::string read_name(const char* what) {
    const std::size_t first = at_;
    while (at_ < text_.size() && is_xml_name(text_[at_])) ++at_;
    if (at_ == first) refuse("the name of ", what, " should be here, is ", here());
    return text_.substr(first, at_ - first);
  }

  XmlElement element(int depth) {
    if (depth > kDeepestXml) refuse("elements are nested more than ", kDeepestXml, " deep");
    XmlElement result;
    result.line = line_;
    step(1);
    result.name = read_name("an element");
    if (skip_attributes(result)) return result;
    content(result, depth);
    const std::size_t last = result.text.find_last_not_of(" \t\r\n");
    result.text.erase(last == result.text.npos ? 0 : last + 1);
    result.text.erase(0, result.text.find_first_not_of(" \t\r\n"));
    return result;
  }

  // Reads the rest of a start tag. Returns true for an element without content, <name/>.
  bool skip_attributes(const XmlElement& of) {
    for (;;) {
      skip_spaces();
      if (next_is("/>")) return step(2), true;
      if (next_is(">")) return step(1), false;
      if (at_ >= text_.size()) refuse("the tag <", of.name, " does not end");
      const std::string name = read_name("an attribute");
      skip_spaces();
      if (!next_is("=")) refuse("the attribute '", name, "' of <", of.name, "> has no value");
      step(1);
      skip_spaces();
      const char quote = at_ < text_.size() ? text_[at_] : ' ';
      const std::size_t end =
          quote == '"' || quote == '\'' ? text_.find(quote, at_ + 1) : text_.npos;
      if (end == text_.npos)
        refuse("the value of the attribute '", name, "' of <", of.name, "> is not in quotes");
      step(end + 1 - at_);
    }
  }

  void content(XmlElement& of, int depth) {
    for (;;) {
      if (at_ >= text_.size())
        refuse("the file ends within <", of.name, "> of line ", of.line, "; is it cut off?");
      if (next_is("</")) {
        step(2);
        const std::string name = read_name("an element");
        if (name != of.name)
          refuse("</", name, "> ends <", of.name, "> of line ", of.line, "; </", of.name,
                 "> should come first");
        skip_spaces();
        if (!next_is(">")) refuse("the tag </", name, " does not end");
        return step(1);
      }
      if (skip_aside()) continue;
      if (next_is("<"))
        of.children.push_back(element(depth + 1));
      else if (next_is("&"))
        of.text += entity();
      else
        of.text += text_[at_], step(1);
    }
  }

  std::string entity() {
    const std::size_t end = text_.find(';', at_);
    constexpr std::size_t kLongest = 10;
    if (end == text_.npos || end - at_ > kLongest)
      refuse("an & should begin an entity such as &amp; here: ", here());
    const std::string word = text_.substr(at_ + 1, end - at_ - 1);
    step(end + 1 - at_);
    for (const auto& [known, meaning] :
         {std::pair{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}})
      if (word == known) return meaning;
    uint32_t code = 0;
    const bool hexadecimal = word.starts_with("#x");
    const char *first = word.data() + (hexadecimal ? 2 : 1), *last = word.data() + word.size();
    const bool is_number = word.starts_with("#") && first < last &&
                           std::from_chars(first, last, code, hexadecimal ? 16 : 10).ptr == last;
    const bool is_letter =
        code >= 0x20 && code != 0x7F && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    if (!is_number || !is_letter) refuse("the entity &", printable(word), "; is not known");
    return utf8_of(code);
  }

  const std::string &text_, &name_;
  std::size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

const XmlElement* XmlElement::child(const std::string& wanted) const {
  for (const XmlElement& each : children)
    if (each.name == wanted) return &each;
  return nullptr;
}

XmlElement parse_xml(const std::string& text, const std::string& name) {
  return XmlParser(text, name).document();
}

}  // namespace lockstep
