// SPDX-License-Identifier: Apache-2.0
// Reads the fields of one JSON element. Errors name the element and the key.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "data/coco/boxes.h"
#include "lockstep/error.h"

namespace lockstep {

class Fields {
 public:
  // `kind` names the element in errors, such as "annotation"; the element's id follows if there is
  // one. Throws unless the element is an object.
  Fields(const nlohmann::json& element, const std::string& kind);

  bool has(const char* key) const;
  const nlohmann::json& at(const char* key) const;
  // The object at the key. Errors name both.
  Fields part(const char* key) const;

  // A whole number of at least `least`, with or without ".0".
  int64_t integer(const char* key, int64_t least) const;
  double number(const char* key) const;
  bool flag(const char* key) const;  // reads 0, 1, true or false; false if missing
  const std::string& text(const char* key) const;
  // A list of `count` numbers, or of any length if `count` is 0.
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

// The value of an integer or of a float without a fraction, else nothing.
std::optional<int64_t> whole_number(const nlohmann::json& value);

// The value as JSON, cut off after 40 characters, for errors.
std::string brief(const nlohmann::json& value);

}  // namespace lockstep
