#include "tools/config_command.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "runtime/dist/rendezvous.h"
#include "tools/detection/detector_config.h"

namespace lockstep {

KeyWords::KeyWords(CLI::App& command) : command_(command) {
  command.allow_extras();
  DetectorConfig config;  // the table with all flags
  for (const ConfigKey& key : keys_of(config)) {
    if (key.facts.flag.empty()) continue;
    Flag& flag = flags_.emplace_back(Flag{key.facts.flag, "true"});
    flag.option = std::holds_alternative<bool*>(key.target)
                      ? command.add_flag(flag.name)
                      : command.add_option(flag.name, flag.value);
    flag.option->description(key.meaning);
  }
}

std::vector<std::string> KeyWords::words() const {
  std::vector<std::string> words = command_.remaining();
  for (const std::string& word : words)
    if (word.rfind("--", 0) == 0) throw CLI::ExtrasError({word});
  return words;
}

void KeyWords::add_flags(std::vector<std::string>& words) const {
  for (const Flag& flag : flags_)
    if (flag.option->count() > 0) words.insert(words.end(), {flag.name, flag.value});
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
