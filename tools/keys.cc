// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "app/config/page.h"
#include "app/task_kind.h"
#include "graph/listed.h"
#include "tools/command.h"

namespace lockstep {
namespace {

const TaskKind& kind_named(const std::string& name) {
  return *std::find_if(task_kinds().begin(), task_kinds().end(),
                       [&](const TaskKind& kind) { return kind.name == name; });
}

}  // namespace

void add_keys(CLI::App& app, Command& chosen) {
  struct Options {
    std::string part;
    std::string task = task_kinds().front().name;
    bool markdown = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("keys", "list the keys of a CONFIG.yaml");
  command->add_option("part", options->part, "print only the keys whose name contains this");
  std::vector<std::string> names;
  for (const TaskKind& kind : task_kinds()) names.push_back(kind.name);
  command->add_option("--task", options->task, listed(names))
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  command->add_flag("--markdown", options->markdown,
                    "print Markdown, as in docs/configuration.md, docs/detection_keys.md, "
                    "docs/text_keys.md, docs/control_keys.md or docs/arrays_keys.md");
  command->footer("Example:  lockstep keys CLIP");
  command->callback([options, &chosen] {
    chosen = [options] {
      const TaskKind& kind = kind_named(options->task);
      const OwnedKeys own = kind.keys();
      std::cout << (options->markdown ? markdown_of(own.keys, kind.page)
                                      : listing_of(own.keys, options->part));
      return 0;
    };
  });
}

}  // namespace lockstep
