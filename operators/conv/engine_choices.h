// Engine choices, for kernels with several engines that differ in speed and in last bits. Each
// choice is timed once and kept in a file, so that a later run with that file gives the same bits.
// Lines of the file: the engine's number, and its problem.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace lockstep {

class EngineChoices {
 public:
  // Reads the file if it exists. Throws naming an invalid line.
  explicit EngineChoices(std::string path);

  const std::string& path() const { return path_; }
  std::optional<int64_t> find(const std::string& problem) const;
  // Also writes it to the file.
  void keep(const std::string& problem, int64_t engine);

 private:
  const std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> choices_;
};

// The choices in the file LOCKSTEP_ENGINES; null if that is not set: nothing is timed.
EngineChoices* engine_choices();

}  // namespace lockstep
