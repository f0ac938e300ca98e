// SPDX-License-Identifier: Apache-2.0
// A self-contained page: styles, scripts and data in one HTML document that loads nothing from a
// network and runs no text of its data.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

// JSON for the page's scripts: the text of the element with this id.
struct PageData {
  std::string id;
  std::string json;
};

struct Page {
  std::string title;                 // plain text, from anyone
  std::vector<std::string> styles;   // names of resources, in order: theme.css
  std::vector<std::string> scripts;  // viewport.js
  std::string body = "";             // HTML of the project's, never of a file's names
  std::vector<PageData> data = {};
  std::string command = "";  // that wrote the page, for its <meta>; plain text
};

// The policy allows the page's scripts and styles by their hashes, and nothing else: a script that
// a name brought into the document would not run. `<` in data is written as \u003c, so that no name
// ends the element of the data.
void write_page(std::ostream& out, const Page& page);

// A file of app/pages (*.js, *.css) that is compiled into the program.
std::string_view resource(std::string_view name);

}  // namespace lockstep
