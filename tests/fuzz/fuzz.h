// SPDX-License-Identifier: Apache-2.0
// Readers of what strangers made, each fed with bytes: by libFuzzer, which mutates them (`make
// fuzz`), and by every build's tests, which replay the seeds and every input that ever broke one.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::fuzz {

struct Target {
  std::string name;
  // Refuses bytes by an Error or takes them; whatever else happens is a defect.
  void (*read)(const std::string& bytes);
  // Good inputs to begin with, made by the library itself.
  std::vector<std::string> (*seeds)();
  std::size_t longest = 4096;  // bytes that are worth trying
};
inline void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }
const std::vector<Target>& targets();
// Throws naming the known ones.
const Target& target_named(const std::string& name);

// Reads them as `lockstep` does: an Error is an answer, any other exception flies on.
void try_reading(const Target& target, const std::string& bytes);
// Whether `act` ends without an Error.
bool accepts(const std::function<void()>& act);
// Ends the process where a reader took what it should not have, or answers otherwise the next time.
void expect(bool holds);

// A regular file in memory, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};
// What `write` leaves in the file it is told.
std::string written(const std::function<void(const std::string& path)>& write);

}  // namespace lockstep::fuzz
