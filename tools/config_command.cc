#include "tools/config_command.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "runtime/dist/rendezvous.h"

namespace lockstep {

std::vector<std::string> overrides_of(const CLI::App& command, const std::string& devices) {
  std::vector<std::string> overrides = command.remaining();
  for (const std::string& word : overrides)
    if (word.rfind("--", 0) == 0) throw CLI::ExtrasError({word});
  if (!devices.empty()) overrides.insert(overrides.end(), {"DEVICES", devices});
  return overrides;
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
