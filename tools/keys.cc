#include <CLI/CLI.hpp>
#include <iostream>

#include "tools/command.h"
#include "tools/settings/page.h"
#include "tools/train/config.h"

namespace lockstep {

void add_keys(CLI::App& app, Command& chosen) {
  struct Options {
    std::string part;
    bool markdown = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("keys", "list the keys of a CONFIG.yaml");
  command->add_option("part", options->part, "print only the keys whose name contains this");
  command->add_flag("--markdown", options->markdown, "print Markdown, as in docs/configuration.md");
  command->footer("Example:  lockstep keys CLIP");
  command->callback([options, &chosen] {
    chosen = [options] {
      TrainConfig config;
      const ConfigKeys keys = keys_of(config);
      std::cout << (options->markdown ? markdown_of(keys) : listing_of(keys, options->part));
      return 0;
    };
  });
}

}  // namespace lockstep
