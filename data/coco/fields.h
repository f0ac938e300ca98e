// SPDX-License-Identifier: Apache-2.0
// The fields of one JSON element, with errors that name the element and the key.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "data/coco/boxes.h"
#include "graph/error.h"

namespace lockstep {

class Fields {
 public:
  // `kind`: "annotation"; its id follows in errors once it is known. Throws unless it is an object.
  Fields(const nlohmann::json& element, const std::string& kind);

  bool has(const char* key) const;
  const nlohmann::json& at(const char* key) const;

  // A whole number of at least `least`, with or without ".0".
  int64_t integer(const char* key, int64_t least) const;
  double number(const char* key) const;
  bool flag(const char* key) const;  // false if it is not there; 0, 1, true or false
  const std::string& text(const char* key) const;
  // A list of numbers; `count` of them unless that is 0.
  std::vector<double> numbers(const char* key, std::size_t count = 0) const;
  std::vector<double> numbers(const nlohmann::json& list, const char* key) const;
  CocoBox box(const char* key) const;

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(name_, ": ", parts...);
  }

 private:
  const nlohmann::json& element_;
  std::string name_;
};

// Of an integer, or of a float without a fraction; none for any other value.
std::optional<int64_t> whole_number(const nlohmann::json& value);

// For errors: as JSON, cut off.
std::string brief(const nlohmann::json& value);

}  // namespace lockstep
