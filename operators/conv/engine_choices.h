// Which of several engines a kernel takes, where they differ in speed and in last bits: timed once,
// kept in a file, and taken from there ever after, so that a run with that file gives the same bits
// again. Lines of the file: a number, and the problem that it was chosen for.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace lockstep {

class EngineChoices {
 public:
  // Reads the file if it is there. Throws naming a line that is none of ours.
  explicit EngineChoices(std::string path);

  const std::string& path() const { return path_; }
  std::optional<int64_t> find(const std::string& problem) const;
  // In the file, too.
  void keep(const std::string& problem, int64_t engine);

 private:
  const std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> choices_;
};

// Those of the file that LOCKSTEP_ENGINES names; null: none does, and nothing is timed.
EngineChoices* engine_choices();

}  // namespace lockstep
