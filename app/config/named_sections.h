// SPDX-License-Identifier: Apache-2.0
// The value of a key with sections that the user names. Each section has these text fields:
// DATASETS: {mine: {IMAGES: folder, ANNOTATIONS: file.json}}.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep {

struct NamedSections {
  using Section = std::map<std::string, std::string>;  // by field; unset fields are missing

  std::vector<std::string> fields;
  std::map<std::string, Section> sections;  // by name

  // "IMAGES and ANNOTATIONS"
  std::string fields_text() const;
};

}  // namespace lockstep
