// SPDX-License-Identifier: Apache-2.0
// JSON as files have it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lockstep {

// Names of files and classes may be any bytes; JSON is UTF-8, so others are replaced.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
