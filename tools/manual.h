// The parser's texts in other forms: a manual page and shell completions.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace lockstep {

// The `man` page of all subcommands.
std::string manual_page(const CLI::App& app);
// For bash, zsh or fish; throws for another shell.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace lockstep
