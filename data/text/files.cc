// SPDX-License-Identifier: Apache-2.0
#include "lockstep/text.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "graph/file.h"
#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

using Paths = std::set<std::string>;  // in order, each once

bool is_hidden(const fs::path& path) { return path.filename().string().rfind('.', 0) == 0; }
bool is_pattern(const std::string& name) { return name.find_first_of("*?[") != name.npos; }

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code trouble;
  for (fs::directory_iterator at(folder, trouble), end; !trouble && at != end;
       at.increment(trouble))
    if (!is_hidden(at->path())) entries.push_back(at->path());
  check(!trouble, "cannot read the folder '", folder.string(), "': ", trouble.message());
  return entries;
}

bool is_folder(const fs::path& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}

// Does not follow links to folders, because links may form a cycle.
bool may_descend(const fs::path& path) {
  std::error_code none;
  return is_folder(path) && !fs::is_symlink(path, none);
}

constexpr const char* kAnyFolders = "**";

// Finds files by the parts of a pattern. With several **, many paths lead to the same folder and
// part, so each pair of folder and part is visited once.
class Matcher {
 public:
  Matcher(std::vector<std::string> parts, Paths& found) : parts_(std::move(parts)), found_(found) {}

  // Adds the files below `folder` that the parts from `next` on match.
  void match(const fs::path& folder, std::size_t next = 0) {
    if (!seen_.emplace(folder.string(), next).second) return;
    const std::string& part = parts_[next];
    const bool is_last = next + 1 == parts_.size();
    if (part == kAnyFolders)
      match_any_folders(folder, next, is_last);
    else if (is_pattern(part))
      match_entries(folder, next, is_last);
    else if (std::error_code none; fs::exists(folder / part, none))
      match_entry(folder / part, next, is_last);
  }

 private:
  void match_any_folders(const fs::path& folder, std::size_t next, bool is_last) {
    if (!is_last) match(folder, next + 1);  // ** matches no folder
    for (const fs::path& entry : entries_of(folder)) {
      if (may_descend(entry))
        match(entry, next);
      else if (is_last && !is_folder(entry))
        found_.insert(entry.string());
    }
  }

  void match_entries(const fs::path& folder, std::size_t next, bool is_last) {
    for (const fs::path& entry : entries_of(folder))
      if (fnmatch(parts_[next].c_str(), entry.filename().c_str(), FNM_PERIOD) == 0)
        match_entry(entry, next, is_last);
  }

  void match_entry(const fs::path& entry, std::size_t next, bool is_last) {
    if (is_folder(entry) && !is_last) match(entry, next + 1);
    if (!is_folder(entry) && is_last) found_.insert(entry.string());
  }

  const std::vector<std::string> parts_;
  Paths& found_;
  std::set<std::pair<std::string, std::size_t>> seen_;  // visited pairs of folder and part
};

void add_all_below(const fs::path& folder, Paths& found) {
  Matcher({kAnyFolders}, found).match(folder);
}

void add_pattern(const fs::path& pattern, Paths& found) {
  std::vector<std::string> parts;
  for (const fs::path& part : pattern.relative_path())
    if (!part.empty()) parts.push_back(part.string());
  const fs::path start = pattern.root_path().empty() ? fs::path(".") : pattern.root_path();
  Paths matching;
  Matcher(std::move(parts), matching).match(start);
  for (const std::string& path : matching) found.insert(fs::path(path).lexically_normal().string());
}

}  // namespace

std::vector<std::string> text_files_named(const std::vector<std::string>& names,
                                          const std::string& root) {
  check(!names.empty(), "no text file is named");
  Paths all;
  for (const std::string& name : names) {
    check(!name.empty(), "the name of a text file is empty");
    const fs::path path = fs::path(root) / name;  // an absolute name replaces root
    Paths found;
    std::error_code none;
    if (is_folder(path))
      add_all_below(path, found);
    else if (fs::exists(path, none))
      found.insert(path.string());
    else if (is_pattern(name))
      add_pattern(path, found);
    else
      fail("there is no file or folder '", path.string(), "'");
    check(!found.empty(), "'", path.string(), "' ",
          is_folder(path) ? "is a folder without files" : "matches no file");
    all.insert(found.begin(), found.end());
  }
  return {all.begin(), all.end()};
}

JoinedText::JoinedText(const std::vector<std::string>& paths) {
  std::size_t sum = 0;
  for (const std::string& path : paths) {
    std::error_code trouble;
    const auto size = fs::file_size(path, trouble);
    sum = saturating_add(sum, trouble ? 0 : static_cast<std::size_t>(size));
  }
  // Memory for the text and its encoding.
  check_memory(saturating_add(sum, sum), join("the text of ", paths.size(), " files"));
  bytes_.reserve(sum);
  for (const std::string& path : paths) {
    const std::string text = read_file(path);
    check(!text.empty(), path, ": the file is empty");
    starts_.push_back({path, size()});
    bytes_ += text;
  }
}

std::string JoinedText::where(int64_t position) const {
  const auto after =
      std::upper_bound(starts_.begin(), starts_.end(), position,
                       [](int64_t place, const Start& start) { return place < start.first; });
  const bool named = after != starts_.begin();
  const int64_t first = named ? std::prev(after)->first : 0;
  const auto line = 1 + std::count(bytes_.begin() + first, bytes_.begin() + position, '\n');
  return join(named ? std::prev(after)->path : "the text", ":", line);
}

}  // namespace lockstep
