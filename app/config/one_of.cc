// SPDX-License-Identifier: Apache-2.0
#include "app/config/one_of.h"

#include <algorithm>

#include "graph/listed.h"
#include "graph/nearest.h"
#include "lockstep/error.h"

namespace lockstep {

ParsedText one_of(std::string& value, const std::vector<std::string>& words) {
  ParsedText row = parsed(
      value,
      [words](const std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return text;
        const std::string near = nearest(text, words);
        fail("'", text, "' is not one of ", listed(words),
             near.empty() ? "" : "; did you mean " + near + "?");
      },
      [](const std::string& text) { return text; });
  row.words = words;
  return row;
}

}  // namespace lockstep
