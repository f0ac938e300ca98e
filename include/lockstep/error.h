// SPDX-License-Identifier: Apache-2.0
// Errors and call sites. Lockstep rejects invalid use with an Error that names the mistake, its
// place, the offending values and the remedy. The command line prints the text and exits with 2.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lockstep {

// The subject of an error, for code that reacts to errors. The text says the same to people.
struct ErrorSubject {
  std::vector<std::string> keys = {};  // of a configuration, in the order of the text
  std::string node = "";               // a node's name
  std::string place = "";              // "x.yaml:12", "command line"

  // Adds the subject of a later part of the text. Its node and place count only if this subject has
  // none.
  void add(const ErrorSubject& later) {
    keys.insert(keys.end(), later.keys.begin(), later.keys.end());
    if (node.empty()) node = later.node;
    if (place.empty()) place = later.place;
  }
};

// Parts of a text that also become its subject: check(n > 0, Key{"THREADS"}, " is ", n).
struct Key {
  std::string_view name;
  operator std::string_view() const { return name; }  // NOLINT: prints itself
  ErrorSubject subject() const { return {.keys = {std::string(name)}}; }
};
struct NodeName {
  std::string_view name;
  operator std::string_view() const { return name; }  // NOLINT
  ErrorSubject subject() const { return {.node = std::string(name)}; }
};
struct ErrorPlace {
  std::string_view place;
  operator std::string_view() const { return place; }  // NOLINT
  ErrorSubject subject() const { return {.place = std::string(place)}; }
};
// Several parts, joined: phrase(n, " replicas of ", Key{"DEVICES"}).
struct Phrase {
  std::string text;
  ErrorSubject about;
  operator std::string_view() const { return text; }  // NOLINT
  const ErrorSubject& subject() const { return about; }
};

// True for a part of a text that becomes part of the error's subject.
template <class Part>
concept HasSubject = requires(const Part& part, ErrorSubject& all) {
  all.add(part.subject());
};

template <class... Parts>
ErrorSubject subject_of(const Parts&... parts) {
  ErrorSubject all;
  const auto add = [&](const auto& part) {
    if constexpr (HasSubject<std::remove_cvref_t<decltype(part)>>) all.add(part.subject());
  };
  (add(parts), ...);
  return all;
}

std::string text_of(const std::vector<int64_t>& dims);

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, ErrorSubject subject = {})
      : std::runtime_error(text), subject_(std::move(subject)) {}
  const ErrorSubject& subject() const { return subject_; }

 private:
  ErrorSubject subject_;
};
// Prints an error as a part of another text: fail(path, ": ", error) keeps the subject.
inline std::string text_of(const Error& error) { return error.what(); }

// A valid request that this version of Lockstep does not support.
class Unsupported : public Error {
 public:
  using Error::Error;
};

template <class Part>
inline constexpr bool is_text = std::is_convertible_v<const Part&, std::string_view>;
template <class Part>
inline constexpr bool is_plain =
    is_text<Part> || std::is_same_v<Part, int> || std::is_same_v<Part, int64_t>;

template <class Part>
void append_part(std::string& text, const Part& part) {
  if constexpr (is_text<Part>)
    text += std::string_view(part);
  else
    text += std::to_string(part);
}

template <class Part>
void print_part(std::ostream& out, const Part& part) {
  if constexpr (is_text<Part>)
    out << std::string_view(part);
  else if constexpr (requires { out << part; })
    out << part;
  else
    out << text_of(part);
}

// Concatenates its arguments: join("axis ", 3) == "axis 3". Each argument needs a << or a text_of.
// Strings and integers avoid the stream, because graphs build the names of their values here.
template <class... Parts>
std::string join(const Parts&... parts) {
  if constexpr ((is_plain<Parts> && ...)) {
    std::string text;
    (append_part(text, parts), ...);
    return text;
  } else {
    std::ostringstream text;
    (print_part(text, parts), ...);
    return text.str();
  }
}

template <class... Parts>
Phrase phrase(const Parts&... parts) {
  return {join(parts...), subject_of(parts...)};
}

// Throws a `Kind` of error about the subjects of the text's parts.
template <class Kind, class... Parts>
[[noreturn]] void fail_as(const Parts&... parts) {
  if constexpr ((HasSubject<Parts> || ...))
    throw Kind(join(parts...), subject_of(parts...));
  else
    throw Kind(join(parts...));
}

// Throws an Error with the parts joined as its text.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  fail_as<Error>(parts...);
}

// Throws Unsupported unless `holds`.
template <class... Parts>
void supported(bool holds, const Parts&... parts) {
  if (!holds) fail_as<Unsupported>(parts...);
}

// Throws an error with another text: Unsupported if `error` is Unsupported, else Error. Adds the
// subject of `error`.
template <class... Parts>
[[noreturn]] void rethrow_as(const std::exception& error, const Parts&... parts) {
  ErrorSubject subject = subject_of(parts...);
  if (const auto* known = dynamic_cast<const Error*>(&error)) subject.add(known->subject());
  if (dynamic_cast<const Unsupported*>(&error)) throw Unsupported(join(parts...), subject);
  throw Error(join(parts...), subject);
}

// Throws an Error unless `holds`. Builds the text only then, because steps and loops call check():
// pass the shape, not its text.
template <class... Parts>
void check(bool holds, const Parts&... parts) {
  if (!holds) fail(parts...);
}

// The line of user code that adds a node. std::source_location is missing in clang 14.
struct Where {
  const char* file = "";  // not owned; usually a string literal
  int line = 0;

  static Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  std::string text() const { return line > 0 ? join(file, ":", line) : std::string(file); }
};

// The last argument of every function that adds a node: an optional name and the call site. A
// string converts to a Site, so that `relu(g, x, "relu1")` records its own line.
struct Site {
  std::string name;
  Where where;

  Site(std::string name = "", Where where = Where::here())  // NOLINT: converts by intent
      : name(std::move(name)), where(where) {}
  Site(const char* name, Where where = Where::here()) : name(name), where(where) {}  // NOLINT
};

}  // namespace lockstep
