// SPDX-License-Identifier: Apache-2.0
// JSON texts of files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lockstep {

// Replaces bytes that are not UTF-8: names of files and classes may be any bytes.
inline std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
