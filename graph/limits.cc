// SPDX-License-Identifier: Apache-2.0
#include "graph/limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <limits>
#include <optional>

#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

// Returns the number after `key` in a file of lines such as `MemAvailable:  1234 kB`, or the file's
// first word if `key` is empty. Returns nothing if no number is there, as for `max`.
std::optional<std::size_t> number_in(const std::string& path, std::string_view key = "") {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (!key.empty() && word != key) continue;
    if (!key.empty() && !(file >> word)) return std::nullopt;
    std::size_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
    return number;
  }
  return std::nullopt;
}

struct GroupFiles {
  const char *limit, *used, *reclaimable;
};

// Returns the memory left in a control group. The group counts cached file pages as used; this
// function counts them as free, because the kernel drops them on demand.
std::size_t left_by_group(const std::string& folder, const GroupFiles& files) {
  const auto limit = number_in(folder + files.limit), used = number_in(folder + files.used);
  if (!limit || !used) return kNoLimit;
  const std::size_t cached = number_in(folder + "/memory.stat", files.reclaimable).value_or(0);
  const std::size_t kept = *used - std::min(cached, *used);
  return *limit - std::min(kept, *limit);
}

std::size_t left_by_groups() {
  constexpr GroupFiles kSecond{"/memory.max", "/memory.current", "inactive_file"};
  constexpr GroupFiles kFirst{"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                              "total_inactive_file"};
  std::size_t least = kNoLimit;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && controllers != "memory") continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    std::string group = line.substr(second + 1);
    // The limits of all parent groups apply. In a container the group may be the root.
    while (true) {
      while (!group.empty() && group.back() == '/') group.pop_back();
      least = std::min(least, left_by_group(root + group, unified ? kSecond : kFirst));
      if (group.empty()) break;
      group.erase(group.rfind('/'));
    }
  }
  return least;
}

std::size_t left_by_process_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  const std::size_t used = number_in("/proc/self/status", "VmSize:").value_or(0) * 1024;
  return limit.rlim_cur - std::min<std::size_t>(used, limit.rlim_cur);
}

}  // namespace

std::size_t usable_memory() {
  if (const char* said = std::getenv("LOCKSTEP_MEMORY"))
    return parse_bytes(said, "LOCKSTEP_MEMORY");
  const auto free = number_in("/proc/meminfo", "MemAvailable:");
  return std::min({free ? *free * 1024 : kNoLimit, left_by_groups(), left_by_process_limit()});
}

void check_memory(std::size_t bytes, const std::string& what) {
  constexpr std::size_t kAlwaysThere = std::size_t{1} << 20;  // not worth a system call
  if (bytes <= kAlwaysThere && !std::getenv("LOCKSTEP_MEMORY")) return;
  const std::size_t usable = usable_memory();
  if (bytes > usable)
    throw NoMemory(join(what, " needs ", text_of_bytes(bytes), " of memory; ",
                        text_of_bytes(usable),
                        std::getenv("LOCKSTEP_MEMORY")
                            ? " are allowed by LOCKSTEP_MEMORY"
                            : " are free; LOCKSTEP_MEMORY=64G sets the limit to 64 GiB instead"));
}

std::size_t saturating_add(std::size_t a, std::size_t b) {
  std::size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kNoLimit : sum;
}

std::string text_of_bytes(std::size_t bytes) {
  if (bytes < 1024) return join(bytes, " bytes");
  auto size = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {" KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}) {
    if (size < 1024) break;
    size /= 1024;
    unit = next;
  }
  std::ostringstream text;
  text << std::setprecision(size < 1000 ? 3 : 4) << size << unit;
  return text.str();
}

std::size_t parse_bytes(const std::string& text, const std::string& what) {
  double number = -1;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  int power = 0;
  if (rest + 1 == end)
    power = *rest == 'K' ? 10 : *rest == 'M' ? 20 : *rest == 'G' ? 30 : *rest == 'T' ? 40 : -1;
  const double bytes = std::ldexp(number, std::max(power, 0));
  check(error == std::errc() && end - rest <= 1 && power >= 0 && bytes >= 0 && bytes < 0x1p63, what,
        " '", text, "' is not a number of bytes; write 4096, 64K, 512M or 1.5G");
  return bytes;
}

}  // namespace lockstep
