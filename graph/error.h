// SPDX-License-Identifier: Apache-2.0
// Errors and call sites. Lockstep rejects everything with an Error that says what is wrong, where,
// the offending values and the remedy; the command line prints it and exits with 2.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/error_subject.h"

namespace lockstep {

std::string text_of(const std::vector<int64_t>& dims);  // graph/shape.cc

class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text, ErrorSubject subject = {})
      : std::runtime_error(text), subject_(std::move(subject)) {}
  const ErrorSubject& subject() const { return subject_; }

 private:
  ErrorSubject subject_;
};
// Makes an error a part of another one's text: fail(path, ": ", error) keeps its subject.
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

// Concatenates its arguments: join("axis ", 3) == "axis 3". Each needs a << or a text_of. Names of
// values are made here too, hence no stream for strings and whole numbers.
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

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  fail_as<Error>(parts...);
}

template <class... Parts>
void supported(bool holds, const Parts&... parts) {
  if (!holds) fail_as<Unsupported>(parts...);
}

// Throws an error of the same kind as `error` with another text, about its subject, too.
template <class... Parts>
[[noreturn]] void rethrow_as(const std::exception& error, const Parts&... parts) {
  ErrorSubject subject = subject_of(parts...);
  if (const auto* known = dynamic_cast<const Error*>(&error)) subject.add(known->subject());
  if (dynamic_cast<const Unsupported*>(&error)) throw Unsupported(join(parts...), subject);
  throw Error(join(parts...), subject);
}

// Builds the text only on failure, since steps and loops check too: pass the shape, not its text.
template <class... Parts>
void check(bool holds, const Parts&... parts) {
  if (!holds) fail(parts...);
}

// The line of user code that adds a node. std::source_location is missing in clang 14.
struct Where {
  const char* file = "";
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
