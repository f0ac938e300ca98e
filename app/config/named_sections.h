// SPDX-License-Identifier: Apache-2.0
// The value of a key with sections that the user names. Each section has text fields:
// DATASETS: {mine: {IMAGES: folder, ANNOTATIONS: file.json}}.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace lockstep {

struct NamedSections {
  using Section = std::map<std::string, std::string>;  // by field; unset fields are missing

  std::vector<std::string> fields;
  std::map<std::string, Section> sections;     // by name
  std::vector<std::string> other_fields = {};  // of another form of a section
  // Further fields of either form, which may be left out. Their values may be lists: the text is
  // one line of YAML (nested.h).
  std::vector<std::string> list_fields = {};

  std::vector<std::string> all_fields() const;
  // "IMAGES and ANNOTATIONS"; the fields of another form follow after "or".
  std::string fields_text() const;
};

}  // namespace lockstep
