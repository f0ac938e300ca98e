// SPDX-License-Identifier: Apache-2.0
// Reads small XML files strictly: elements, text, entities, comments. Attributes are checked and
// dropped. DOCTYPE and CDATA are refused: a DOCTYPE can make a small file grow without limit.
// Annotations need so little of XML that a library (libexpat) would save only some hundred lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct XmlElement {
  std::string name;
  std::string text;  // outside of the children, without spaces at both ends
  int64_t line = 1;  // of the start tag
  std::vector<XmlElement> children;

  // The first child of this name, or null.
  const XmlElement* child(const std::string& wanted) const;
};

// Returns the root element. `name` is the file's name: errors begin with NAME:LINE.
XmlElement parse_xml(const std::string& text, const std::string& name);

}  // namespace lockstep
