// SPDX-License-Identifier: Apache-2.0
// Readers of untrusted input, each fed with bytes. libFuzzer mutates the bytes (`make fuzz`). The
// tests of every build replay the seeds and every input that once broke a reader.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::fuzz {

struct Target {
  std::string name;
  // Refuses bytes with an Error or accepts them. Any other outcome is a defect.
  void (*read)(const std::string& bytes);
  // Valid inputs to start from, made by the library.
  std::vector<std::string> (*seeds)();
  std::size_t longest = 4096;  // the maximum useful number of bytes
};
inline void PrintTo(const Target& target, std::ostream* out) { *out << target.name; }
const std::vector<Target>& targets();
// Throws an Error that lists the known names.
const Target& target_named(const std::string& name);

// Reads the bytes as `lockstep` does. An Error is caught; any other exception propagates.
void try_reading(const Target& target, const std::string& bytes);
// True if `act` ends without an Error.
bool accepts(const std::function<void()>& act);
// Aborts the process if a reader accepted invalid input or gave different results.
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
// Returns the bytes that `write` writes to the file at `path`.
std::string written(const std::function<void(const std::string& path)>& write);

}  // namespace lockstep::fuzz
