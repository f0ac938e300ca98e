// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/array_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "graph/refusal.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOneTensor = ".npy";  // of the extensions
constexpr std::array<std::string_view, 4> kArrayExtensions = {kOneTensor, ".npz", ".safetensors",
                                                              ".csv"};
constexpr std::size_t kFewestDigits = 5;  // fewer belong to the name, as in layer-2.npy

bool is_array_file(const fs::path& path) {
  return std::ranges::find(kArrayExtensions, path.extension().string()) != kArrayExtensions.end();
}

// Removes the number at the end of the text, and the words before it; -1: there is none.
int64_t take_number(std::string_view& text, std::string_view before) {
  std::size_t digits = 0;
  while (digits < text.size() && text[text.size() - 1 - digits] >= '0' &&
         text[text.size() - 1 - digits] <= '9')
    ++digits;
  const std::string_view rest = text.substr(0, text.size() - digits);
  if (digits < kFewestDigits || digits > 18 || !rest.ends_with(before) ||
      rest.size() == before.size())
    return -1;
  int64_t number = 0;
  std::from_chars(text.data() + rest.size(), text.data() + text.size(), number);
  text = rest.substr(0, rest.size() - before.size());
  return number;
}

struct Shard {
  int64_t number = -1, of = -1;  // -1: not said
  std::string path = "";
};
using Shards = std::vector<Shard>;

// Removes the number of the shard from the name.
Shard shard_of(const fs::path& path, std::string_view& name) {
  Shard shard{.path = path.string()};
  std::string_view rest = name;
  shard.of = take_number(rest, "-of-");
  shard.number = take_number(rest, "-");
  if (shard.number < 0) return {.path = path.string()};  // NAME-of-00003 is a name
  name = rest;
  return shard;
}

// Shards begin at 0 or 1.
void check_shards(const std::string& name, const Shards& shards) {
  for (const Shard& shard : shards)
    check(shards.size() == 1 || shard.number >= 0, "'", name, "' has a file of its own, ",
          shards.front().path, ", and the shard ", shards.back().path,
          "; one of the two is left over");
  const int64_t start = shards.front().number;
  if (start < 0) return;
  check(start <= 1, shards.front().path, ": the shards of '", name,
        "' before this one are missing; numbers begin at 00000 or 00001");
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const int64_t expected = start + static_cast<int64_t>(i);
    check(shards[i].number >= expected, shards[i].path, ": another file is shard ",
          shards[i].number, " of '", name, "', too: ", shards[i == 0 ? 0 : i - 1].path);
    check(shards[i].number == expected, "shard ", expected, " of '", name, "' is missing: after ",
          shards[i == 0 ? 0 : i - 1].path, " comes ", shards[i].path);
    check(shards[i].of == shards[0].of, shards[i].path, " and ", shards[0].path,
          " give different numbers of shards");
  }
  const auto count = static_cast<int64_t>(shards.size());
  check(shards[0].of < 0 || shards[0].of == count, "'", name, "' has ", count, " of ", shards[0].of,
        " shards; the last one is ", shards.back().path);
}

std::vector<fs::path> entries_of_set(const std::string& path) {
  std::vector<fs::path> entries;
  std::error_code trouble;
  for (fs::directory_iterator at(path, trouble), end; !trouble && at != end; at.increment(trouble))
    if (at->path().filename().string().front() != '.' && is_array_file(at->path()))
      entries.push_back(at->path());
  check(!trouble, "cannot read the folder ", refusal_text(path, trouble));
  std::ranges::sort(entries);
  return entries;
}

}  // namespace

std::vector<ArrayFiles> array_files(const std::string& path) {
  std::error_code trouble;
  const fs::file_status status = fs::status(path, trouble);
  check(fs::exists(status), "there is no file or folder '", path, "'");
  if (!fs::is_directory(status)) {
    const fs::path file(path);
    check(is_array_file(file), path,
          ": not the name of a file of arrays, which ends in .npy, .npz, .safetensors or .csv");
    return {{file.stem().string(), file.extension().string(), {path}}};
  }
  std::map<std::pair<std::string, std::string>, Shards> found;
  for (const fs::path& entry : entries_of_set(path)) {
    const std::string stem = entry.stem().string();
    std::string_view name = stem;
    Shard shard = shard_of(entry, name);
    found[{std::string(name), entry.extension().string()}].push_back(std::move(shard));
  }
  check(!found.empty(), "the folder '", path,
        "' has no file that ends in .npy, .npz, .safetensors or .csv");
  std::vector<ArrayFiles> all;
  for (auto& [key, shards] : found) {
    std::ranges::stable_sort(shards, {}, &Shard::number);
    check_shards(key.first, shards);
    ArrayFiles files{key.first, key.second, {}};
    for (const Shard& shard : shards) files.paths.push_back(shard.path);
    all.push_back(std::move(files));
  }
  return all;
}

bool has_files_of_sets(const std::string& folder) {
  return std::ranges::any_of(entries_of_set(folder), [](const fs::path& entry) {
    const std::string stem = entry.stem().string();
    std::string_view name = stem;
    return entry.extension() != kOneTensor || shard_of(entry, name).number >= 0;
  });
}

}  // namespace lockstep
