// SPDX-License-Identifier: Apache-2.0
#include "data/coco/fields.h"

#include <cmath>
#include <limits>

#include "graph/printable.h"

namespace lockstep {

using nlohmann::json;

std::string brief(const json& value) {
  constexpr std::size_t kMost = 40;
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return printable(text.size() <= kMost ? text : text.substr(0, kMost) + "..");
}

// Accepts 90.0, because programs with tables of floats write integers like this.
std::optional<int64_t> whole_number(const json& value) {
  constexpr double kExact = 9007199254740992;  // 2^53: a float beyond may stand for several numbers
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::abs(number) > kExact || number != std::floor(number)) return std::nullopt;
    return static_cast<int64_t>(number);
  }
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() &&
       value.get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()}))
    return std::nullopt;
  return value.get<int64_t>();
}

Fields::Fields(const json& element, const std::string& kind) : element_(element), name_(kind) {
  if (!element.is_object()) refuse("should be an object, is ", brief(element));
  if (const auto id = element.find("id"); id != element.end()) name_ += " " + brief(*id);
}

bool Fields::has(const char* key) const {
  const auto found = element_.find(key);
  return found != element_.end() && !found->is_null();
}

const json& Fields::at(const char* key) const {
  const auto found = element_.find(key);
  if (found == element_.end()) refuse("has no '", key, "'");
  return *found;
}

Fields Fields::part(const char* key) const { return {at(key), join(name_, ": '", key, "'")}; }

int64_t Fields::integer(const char* key, int64_t least) const {
  const json& value = at(key);
  const std::optional<int64_t> whole = whole_number(value);
  if (!whole || *whole < least)
    refuse("'", key, "' is ", brief(value), ", should be a whole number of at least ", least);
  return *whole;
}

double Fields::number(const char* key) const {
  const json& value = at(key);
  if (!value.is_number()) refuse("'", key, "' is ", brief(value), ", should be a number");
  return value.get<double>();
}

bool Fields::flag(const char* key) const {
  if (!has(key)) return false;
  const json& value = at(key);
  if (value.is_boolean()) return value.get<bool>();
  const std::optional<int64_t> whole = whole_number(value);
  if (!whole || (*whole != 0 && *whole != 1))
    refuse("'", key, "' is ", brief(value), ", should be 0 or 1");
  return *whole == 1;
}

const std::string& Fields::text(const char* key) const {
  const json& value = at(key);
  if (!value.is_string()) refuse("'", key, "' is ", brief(value), ", should be a string");
  return value.get_ref<const std::string&>();
}

std::vector<double> Fields::numbers(const char* key, std::size_t count) const {
  std::vector<double> result = numbers(at(key), key);
  if (count > 0 && result.size() != count)
    refuse("'", key, "' has ", result.size(), " numbers, should have ", count);
  return result;
}

std::vector<double> Fields::numbers(const json& list, const char* key) const {
  if (!list.is_array()) refuse("'", key, "' is ", brief(list), ", should be a list of numbers");
  std::vector<double> result;
  for (const json& value : list) {
    if (!value.is_number()) refuse("'", key, "' has ", brief(value), ", should have numbers");
    result.push_back(value.get<double>());
    if (!std::isfinite(result.back())) refuse("'", key, "' has a number that is not finite");
  }
  return result;
}

CocoBox Fields::box(const char* key) const {
  const std::vector<double> read = numbers(key, 4);
  if (read[2] < 0 || read[3] < 0)
    refuse("'", key, "' is ", read[2], " x ", read[3], ", width and height should be at least 0");
  return {read[0], read[1], read[2], read[3]};
}

}  // namespace lockstep
