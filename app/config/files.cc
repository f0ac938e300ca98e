// SPDX-License-Identifier: Apache-2.0
#include "app/config/files.h"

#include <algorithm>
#include <filesystem>

#include "app/config/read.h"
#include "graph/file.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 256;

// Returns a name that is equal for all paths of a file; `path` itself if the path cannot be
// resolved.
std::string same_file_name(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

std::string relative_to(const std::string& file, const std::string& base) {
  const fs::path folder = fs::path(file).parent_path();
  return fs::path(base).is_absolute() ? base : (folder / base).string();
}

// A file with bases that are being read.
struct Included {
  std::string path;
  std::string name;  // same_file_name()
};

void append_with_bases(const std::string& path, std::string text, std::vector<Included>& open,
                       ConfigFiles& files) {
  for (const PlacedText& base : bases_in_yaml(text, path)) {
    const std::string next = relative_to(path, base.text), name = same_file_name(next);
    std::string circle;
    for (const Included& file : open) circle += file.path + " -> ";
    const bool closes = std::any_of(open.begin(), open.end(),
                                    [&](const Included& file) { return file.name == name; });
    check(!closes, base.at, ": _BASE_ includes files in a circle: ", circle, next);
    std::string more;
    prefixing(phrase(ErrorPlace{base.at}, ": ", Key{"_BASE_"}), [&] { more = read_file(next); });
    open.push_back({next, name});
    append_with_bases(next, std::move(more), open, files);
    open.pop_back();
  }
  // A base is read again for each file that includes it. Without this limit twenty small files
  // could expand to a million.
  check(files.size() < kMostFiles, path, ": _BASE_ leads to more than ", kMostFiles, " files");
  files.push_back({path, std::move(text)});
}

}  // namespace

ConfigFiles config_files(const std::string& path) {
  ConfigFiles files;
  std::vector<Included> open{{path, same_file_name(path)}};
  append_with_bases(path, read_file_or_pipe(path), open, files);
  return files;
}

void read_files(ConfigKeys& keys, const ConfigFiles& files, Origins& origins) {
  for (const ConfigFile& file : files) {
    const bool is_base = &file != &files.back();
    Origins own{origins.former, {}, {}};
    read_yaml(keys, file.text, file.path, &own);
    for (const auto& [key, place] : own.places)
      origins.places[key] = (is_base ? "base " : "") + place;
    origins.notes.insert(origins.notes.end(), own.notes.begin(), own.notes.end());
  }
}

std::optional<PlacedText> said_of(const std::string& key, const ConfigFiles& files,
                                  const std::vector<std::string>& words) {
  std::optional<PlacedText> said;
  for (const ConfigFile& file : files)
    if (auto value = value_in_yaml(key, file.text, file.path)) said = std::move(value);
  for (std::size_t i = 0; i + 1 < words.size(); i += 2)
    if (words[i] == key) said = PlacedText{words[i + 1], "command line"};
  if (said) refuse_control(said->text, join(said->at, ": ", key));
  return said;
}

}  // namespace lockstep
