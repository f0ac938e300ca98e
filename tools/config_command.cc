// SPDX-License-Identifier: Apache-2.0
#include "tools/config_command.h"

#include <CLI/CLI.hpp>
#include <cctype>
#include <iostream>

#include "app/config/read.h"
#include "app/task_kind.h"
#include "graph/listed.h"
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
    Flag& flag = flags_.emplace_back(
        Flag{.name = key.facts.flag,
             .is_switch = std::holds_alternative<bool*>(key.target),
             .is_list = std::holds_alternative<std::vector<std::string>*>(key.target),
             .alone = key.facts.flag_alone});
    if (flag.is_switch)
      flag.option = command.add_flag(flag.name);
    else if (!flag.alone.empty())
      flag.option = command.add_flag(join(flag.name, "{", flag.alone, "}"), flag.items);
    else if (flag.is_list)
      flag.option = command.add_option(flag.name, flag.items)->allow_extra_args(false);
    else
      flag.option = command.add_option(flag.name, flag.value);
    flag.option->description(key.meaning);
  }
}

// The value as a word of a command line. A list has YAML's form, unless its only item has brackets.
std::string KeyWords::Flag::text() const {
  if (is_switch) return option->as<bool>() ? "true" : "false";
  if (!alone.empty()) return listed(items, ",");
  if (!is_list) return value;
  if (items.size() == 1 && items[0].starts_with('[')) return items[0];
  std::vector<std::string> texts;
  for (const std::string& item : items) {
    std::string text = "\"";
    for (char letter : item)
      text += letter == '"' || letter == '\\' ? std::string{'\\', letter} : std::string(1, letter);
    texts.push_back(text + "\"");
  }
  return "[" + listed(texts) + "]";
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
    for (const std::string& value : flag.is_list ? flag.items : std::vector{flag.value})
      check(!command_.get_option_no_throw(value), flag.name, " has no value; '", value,
            "' is an option");
    given.insert(given.end(), {flag.name, flag.text()});
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
