// SPDX-License-Identifier: Apache-2.0
// Engine choices for kernels with several engines that differ in speed and in last bits. Each
// choice is timed once and stored in a file, so that a later run with the file gives the same bits.
// A line of the file has the engine's name and its problem.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace lockstep {

class EngineChoices {
 public:
  // Reads the file if it exists. Throws for an invalid line and names the line. Only one of several
  // processes `writes`; the choices of the other processes are not stored.
  explicit EngineChoices(std::string path, bool writes = true);

  const std::string& path() const { return path_; }
  std::optional<std::string> find(const std::string& problem) const;
  // `engine` has no spaces.
  void keep(const std::string& problem, const std::string& engine);

 private:
  const std::string path_;
  const bool writes_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> choices_;
};

// The choices in the file LOCKSTEP_ENGINES, which rank 0 writes. Null if the variable is not set:
// engines are not timed.
EngineChoices* engine_choices();

}  // namespace lockstep
