// SPDX-License-Identifier: Apache-2.0
#include "app/machine.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string memory() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  double kilobytes = 0;
  info >> name >> kilobytes;
  return join(static_cast<int64_t>(kilobytes / 1024 / 1024 + 0.5), " GiB");
}

std::string command_line() {
  std::ifstream words("/proc/self/cmdline", std::ios::binary);
  std::string text;
  for (std::string word; std::getline(words, word, '\0');)
    text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

std::string date_and_time() {
  const std::time_t now = std::time(nullptr);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M %Z", std::localtime(&now))};
}

std::size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

std::size_t resident_memory() {
  std::size_t all = 0, resident = 0;  // pages
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace lockstep
