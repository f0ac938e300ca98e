// SPDX-License-Identifier: Apache-2.0
// For tests/python/check_arrays.py.
//   array_tool SET MEMORY OUT FEED..   writes OUT/NAME.npy for each feed, all examples; FEED is
//   NAME=TYPE or NAME=TYPE=SOURCE; MEMORY is the number of bytes that may be held
//   array_tool --time SET MEMORY BATCH STEPS THREADS   prints the examples a second of a loader and
//   the peak of resident memory
#include <sys/resource.h>

#include <chrono>
#include <iostream>

#include "data/arrays/arrays.h"
#include "data/npy.h"
#include "graph/limits.h"
#include "tests/support/tool_main.h"

namespace lockstep {
namespace {

std::vector<std::string> parts_of(const std::string& word) {
  std::vector<std::string> parts{""};
  for (const char letter : word)
    if (letter == '=')
      parts.emplace_back();
    else
      parts.back() += letter;
  return parts;
}

void write_all(const std::vector<std::string>& words) {
  ArraySetOptions options{.path = words.at(0), .memory = std::stoll(words.at(1))};
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::vector<std::string> parts = parts_of(words[i]);
    options.feeds.push_back({.name = parts[0],
                             .source = parts.size() > 2 ? parts[2] : "",
                             .dtype = dtype_named(parts.at(1))});
  }
  const ArraySet set(options);
  const std::vector<Literal> all = set.examples(0, set.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    write_npy(join(words.at(2), "/", set.feeds()[i].name, ".npy"), all[i]);
}

void time_loader(const std::vector<std::string>& words) {
  const ArraySet set({.path = words.at(1), .memory = std::stoll(words.at(2))});
  const int64_t batch = std::stoll(words.at(3)), steps = std::stoll(words.at(4));
  const ArrayBatches batches(set, {.batch = batch});
  Loader loader(batches, std::stoi(words.at(5)));
  loader.get(0);
  const auto began = std::chrono::steady_clock::now();
  for (int64_t step = 1; step <= steps; ++step) loader.get(step);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << (set.is_held() ? "held: " : "read: ") << double(steps * batch) / seconds
            << " examples a second, " << text_of_bytes(usage.ru_maxrss * std::size_t{1024}) << "\n";
}

int run_array_tool(const std::vector<std::string>& words) {
  check(words.size() >= 4,
        "array_tool SET MEMORY OUT FEED.. | "
        "--time SET MEMORY BATCH STEPS THREADS");
  words[0] == "--time" ? time_loader(words) : write_all(words);
  return 0;
}

}  // namespace
}  // namespace lockstep

int main(int count, char** words) {
  return lockstep::testing::tool_main(count, words, lockstep::run_array_tool);
}
