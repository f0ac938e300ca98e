// SPDX-License-Identifier: Apache-2.0
// Scripts by which shells complete commands, options, keys, their values, and names of networks.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace lockstep {

// For bash, zsh or fish; throws for another shell.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace lockstep
