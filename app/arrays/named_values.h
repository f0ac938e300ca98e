// SPDX-License-Identifier: Apache-2.0
// Values of arrays by name, as one line of YAML: {labels: -100, x: 0}. "" is no value.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep {

std::map<std::string, std::string> texts_of(const std::string& line);
std::map<std::string, double> numbers_of(const std::string& line);
// A column or a list of columns for each name.
std::map<std::string, std::vector<std::string>> columns_of(const std::string& line);

}  // namespace lockstep
