// SPDX-License-Identifier: Apache-2.0
// A file in COCO's form, read as a stream: never more than one element of its lists is in memory.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace lockstep {

// An element of one of the lists that the file's object holds: `section` is the list's key. For a
// file that is one list, it is "".
using CocoElement = std::function<void(const std::string& section, const nlohmann::json& element)>;

// Calls `take` for every element in the file's order. Throws naming the file, and the byte where
// JSON breaks off.
void for_each_element(const std::string& path, const CocoElement& take);

}  // namespace lockstep
