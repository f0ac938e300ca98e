#include "tools/config/files.h"

#include <algorithm>
#include <filesystem>

#include "graph/error.h"
#include "graph/file.h"
#include "tools/config/read.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// Equal for two names of a file; without errors for names that the system refuses.
std::string same_file_name(const std::string& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical.string();
}

std::string relative_to(const std::string& file, const std::string& base) {
  const fs::path folder = fs::path(file).parent_path();
  return fs::path(base).is_absolute() ? base : (folder / base).string();
}

}  // namespace

ConfigFiles config_files(const std::string& path) {
  ConfigFiles files{{path, read_file_or_pipe(path)}};
  std::vector<std::string> names{same_file_name(path)};
  while (const auto base = value_in_yaml("_BASE_", files.back().text, files.back().path)) {
    const std::string next = relative_to(files.back().path, base->text);
    const std::string name = same_file_name(next);
    std::string circle;
    for (const ConfigFile& file : files) circle += file.path + " -> ";
    check(std::find(names.begin(), names.end(), name) == names.end(), base->at,
          ": _BASE_ closes a circle: ", circle, next);
    std::string text;
    naming(join(base->at, ": _BASE_"), [&] { text = read_file(next); });
    files.push_back({next, std::move(text)});
    names.push_back(name);
  }
  std::reverse(files.begin(), files.end());
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
  return said;
}

}  // namespace lockstep
