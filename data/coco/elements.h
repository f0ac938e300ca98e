// SPDX-License-Identifier: Apache-2.0
// Reads a file in COCO's form as a stream, with only one element of a list in memory.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace lockstep {

// Receives an element of a list in the file's object. `section` is the list's key, or "" if the
// file itself is a list.
using CocoElement = std::function<void(const std::string& section, const nlohmann::json& element)>;

// Calls `take` for every element in the file's order. Throws an error with the file's name and the
// byte where JSON is invalid.
void for_each_element(const std::string& path, const CocoElement& take);

}  // namespace lockstep
