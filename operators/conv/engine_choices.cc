#include "operators/conv/engine_choices.h"

#include <cstdlib>
#include <fstream>
#include <memory>

#include "graph/error.h"

namespace lockstep {

EngineChoices::EngineChoices(std::string path) : path_(std::move(path)) {
  std::ifstream file(path_);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    char* end = nullptr;
    const int64_t engine = std::strtoll(line.c_str(), &end, 10);
    check(end != line.c_str() && *end == ' ' && engine >= 0, path_, ":", number, ": '", line,
          "' is not an engine number followed by a convolution problem");
    choices_[end + 1] = engine;
  }
}

std::optional<int64_t> EngineChoices::find(const std::string& problem) const {
  std::lock_guard lock(mutex_);
  const auto found = choices_.find(problem);
  return found == choices_.end() ? std::nullopt : std::optional(found->second);
}

void EngineChoices::keep(const std::string& problem, int64_t engine) {
  std::lock_guard lock(mutex_);
  choices_[problem] = engine;
  std::ofstream file(path_, std::ios::app);
  file << engine << " " << problem << std::endl;
  check(file.good(), path_, ": cannot be written");
}

EngineChoices* engine_choices() {
  static const std::unique_ptr<EngineChoices> choices = [] {
    const char* path = std::getenv("LOCKSTEP_ENGINES");
    return path && *path ? std::make_unique<EngineChoices>(path) : nullptr;
  }();
  return choices.get();
}

}  // namespace lockstep
