// SPDX-License-Identifier: Apache-2.0
// The value of a key whose section has names of the user's choice, each with the same fields, which
// are texts: DATASETS: {mine: {IMAGES: folder, ANNOTATIONS: file.json}}.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep {

struct NamedSections {
  using Section = std::map<std::string, std::string>;  // by field, without those that nobody set

  std::vector<std::string> fields;
  std::map<std::string, Section> sections;  // by name

  // "IMAGES and ANNOTATIONS"
  std::string fields_text() const;
};

}  // namespace lockstep
