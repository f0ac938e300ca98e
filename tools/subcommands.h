// SPDX-License-Identifier: Apache-2.0
// The subcommands of a command line, for texts about all of them: errors, manual, completion.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace lockstep {

inline std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// A command without subcommands, and the words that name it: "train", "bench conv".
struct NamedCommand {
  std::string words;
  const CLI::App* app;
};
inline std::vector<NamedCommand> all_commands(const CLI::App& app) {
  std::vector<NamedCommand> all;
  for (const CLI::App* command : subcommands(app)) {
    const std::vector<NamedCommand> within = all_commands(*command);
    for (const NamedCommand& each : within)
      all.push_back({command->get_name() + " " + each.words, each.app});
    if (within.empty()) all.push_back({command->get_name(), command});
  }
  return all;
}

}  // namespace lockstep
