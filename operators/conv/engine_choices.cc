// SPDX-License-Identifier: Apache-2.0
#include "operators/conv/engine_choices.h"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <regex>

#include "lockstep/error.h"
#include "lockstep/processes.h"

namespace lockstep {
namespace {

// True for "62", "62:2=4,13=0" or "alone/62:2=4".
bool is_engine(const std::string& text) {
  static const std::regex form("(alone/)?[0-9]+(:[0-9]+=-?[0-9]+(,[0-9]+=-?[0-9]+)*)?");
  return std::regex_match(text, form);
}

}  // namespace

EngineChoices::EngineChoices(std::string path, bool writes)
    : path_(std::move(path)), writes_(writes) {
  std::ifstream file(path_);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const std::size_t space = line.find(' ');
    check(space != std::string::npos && is_engine(line.substr(0, space)), path_, ":", number, ": '",
          line, "' is not an engine, 62:2=4,13=0, followed by a convolution problem");
    choices_[line.substr(space + 1)] = line.substr(0, space);
  }
}

std::optional<std::string> EngineChoices::find(const std::string& problem) const {
  std::lock_guard lock(mutex_);
  const auto found = choices_.find(problem);
  return found == choices_.end() ? std::nullopt : std::optional(found->second);
}

void EngineChoices::keep(const std::string& problem, const std::string& engine) {
  std::lock_guard lock(mutex_);
  choices_[problem] = engine;
  if (!writes_) return;
  std::ofstream file(path_, std::ios::app);
  file << engine << " " << problem << std::endl;
  check(file.good(), path_, ": cannot be written");
}

EngineChoices* engine_choices() {
  static const std::unique_ptr<EngineChoices> choices = [] {
    const char* path = std::getenv("LOCKSTEP_ENGINES");
    return path && *path ? std::make_unique<EngineChoices>(path, world_of_environment().rank == 0)
                         : nullptr;
  }();
  return choices.get();
}

}  // namespace lockstep
