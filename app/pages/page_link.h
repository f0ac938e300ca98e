// SPDX-License-Identifier: Apache-2.0
// Links between pages that are files.
#pragma once

#include <string>

namespace lockstep {

// The link from one page to another, relative to the page's folder, so that the link still works if
// both are moved together. As a URL: a path may have a blank, `#` or `?`.
std::string link_between(const std::string& page, const std::string& other);

}  // namespace lockstep
