// SPDX-License-Identifier: Apache-2.0
#include "tools/config_command.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <iostream>

#include "app/config/read.h"
#include "app/task_kind.h"
#include "graph/printable.h"
#include "lockstep/processes.h"

namespace lockstep {

namespace {

// The key of any task with the name `word`, in any case; "" if there is none.
std::string key_like(const std::string& word) {
  std::string capitals = word;
  for (char& letter : capitals)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return is_key_of_a_task(capitals) ? capitals : "";
}

// All tasks' keys that have a flag, each once.
ConfigKeys keys_with_flags() {
  ConfigKeys all;
  for (const TaskKind& kind : task_kinds())
    for (const ConfigKey& key : kind.keys().keys)
      if (!key.facts.flag.empty() && !find_key(all, key.key)) all.push_back(key);
  return all;
}

}  // namespace

KeyWords::KeyWords(CLI::App& command) : command_(command) {
  command.allow_extras();
  for (const ConfigKey& key : keys_with_flags()) {
    Flag& flag =
        flags_.emplace_back(Flag{key.facts.flag, "", std::holds_alternative<bool*>(key.target)});
    flag.option =
        flag.is_switch ? command.add_flag(flag.name) : command.add_option(flag.name, flag.value);
    flag.option->description(key.meaning);
  }
}

std::vector<std::string> KeyWords::words() const {
  std::vector<std::string> words = command_.remaining();
  for (const std::string& word : words) {
    if (word.rfind("--", 0) == 0) throw CLI::ExtrasError({word});
    const std::size_t sign = word.find('=');
    if (sign == word.npos) continue;
    const std::string key = key_like(word.substr(0, sign));
    check(key.empty(), "'", word, "': write ", key, " ", shell_word(word.substr(sign + 1)),
          ", with a space instead of the =");
  }
  return words;
}

void KeyWords::add_flags(std::vector<std::string>& words) const {
  std::vector<std::string> given;
  for (const Flag& flag : flags_) {
    if (flag.option->count() == 0) continue;
    const std::string value =
        flag.is_switch ? (flag.option->as<bool>() ? "true" : "false") : flag.value;
    check(flag.is_switch || !command_.get_option_no_throw(value), flag.name, " has no value; '",
          value, "' is an option");
    given.insert(given.end(), {flag.name, value});
  }
  check(words.size() % 2 == 0, "'", words.empty() ? "" : words.back(),
        "' has no value; words after the first come in pairs KEY VALUE");
  words.insert(words.end(), given.begin(), given.end());
}

std::vector<std::string> KeyWords::all() const {
  std::vector<std::string> all = words();
  add_flags(all);
  return all;
}

int over_processes(const std::function<int(Comm*)>& run) {
  World world = world_of_environment();
  world.say = [](const std::string& line) { std::cerr << "lockstep: " << line << std::endl; };
  const std::unique_ptr<Comm> comm = join_world(world);
  try {
    return run(comm.get());
  } catch (const std::exception& error) {
    if (comm) comm->give_up(error.what());
    throw;
  }
}

}  // namespace lockstep
