// SPDX-License-Identifier: Apache-2.0
// The subject of an error, for code that acts on it; the text says the same to people.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lockstep {

struct ErrorSubject {
  std::vector<std::string> keys = {};  // of a configuration, in the order of the text
  std::string node = "";               // a node's name
  std::string place = "";              // "x.yaml:12", "command line"

  // The subject of a later part of the text, whose node and place count where this has none.
  void add(const ErrorSubject& later) {
    keys.insert(keys.end(), later.keys.begin(), later.keys.end());
    if (node.empty()) node = later.node;
    if (place.empty()) place = later.place;
  }
};

// Parts of a text that are its subject, too: check(n > 0, Key{"THREADS"}, " is ", n).
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

}  // namespace lockstep
