// SPDX-License-Identifier: Apache-2.0
// JSON documents with one line for each entry of their long lists, so that a list of 100,000
// entries is never in memory twice, and `diff` and `grep` see entries.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "lockstep/types.h"
#include "runtime/plan/planned_memory.h"

namespace lockstep {

using Json = nlohmann::ordered_json;

// Names from files may be no UTF-8; such bytes become U+FFFD. NaN becomes null.
inline std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class JsonLines {
 public:
  explicit JsonLines(std::ostream& out) : out_(out) { out_ << "{"; }

  void field(const char* name, const Json& value) {
    begin(name);
    out_ << json_line(value);
  }
  // entry(i) is the i-th of `count` entries.
  template <class Entry>
  void list(const char* name, std::size_t count, const Entry& entry) {
    begin(name);
    out_ << "[";
    for (std::size_t i = 0; i < count; ++i)
      out_ << (i == 0 ? "\n" : ",\n") << json_line(entry(static_cast<int>(i)));
    out_ << "]";
  }
  void end() { out_ << "\n}\n"; }

 private:
  void begin(const char* name) {
    out_ << (first_ ? "\n" : ",\n") << '"' << name << "\": ";
    first_ = false;
  }

  std::ostream& out_;
  bool first_ = true;
};

// The parts by name, and their sum.
inline Json json_of(const PlannedMemory& memory) {
  Json json;
  for (const auto& [name, bytes] : memory.parts()) json[std::string(name)] = bytes;
  json["all"] = memory.all();
  return json;
}

// Dimensions as numbers, symbols as texts; null if the rank is unknown.
inline Json shape_json(const TensorType& type) {
  if (!type.ranked) return nullptr;
  Json dims = Json::array();
  for (const Dim& dim : type.shape)
    dim.known() ? dims.push_back(dim.size()) : dims.push_back(dim.symbol());
  return dims;
}

}  // namespace lockstep
