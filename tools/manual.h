// SPDX-License-Identifier: Apache-2.0
// The parser's texts as a manual page.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace lockstep {

// The `man` page of all subcommands.
std::string manual_page(const CLI::App& app);

}  // namespace lockstep
