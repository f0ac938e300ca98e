// SPDX-License-Identifier: Apache-2.0
#include "data/picture_folder.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>
#include <utility>

#include "data/formats/formats.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostEndings = 6;  // maximum number of listed endings

bool begins_as_picture(const fs::path& file) {
  std::error_code trouble;
  if (!fs::is_regular_file(file, trouble)) return false;  // opening a pipe would wait
  std::array<char, 32> first{};
  std::ifstream in(file, std::ios::binary);
  in.read(first.data(), first.size());
  const std::string_view bytes(first.data(), in.gcount());
  return std::any_of(picture_formats().begin(), picture_formats().end(),
                     [bytes](const PictureFormat& format) { return format.begins(bytes); });
}

// The ending in lower case, or "" if the name has no ending or ends with a dot.
std::string ending_of(const fs::path& file) {
  std::string end = file.extension().string();
  std::transform(end.begin(), end.end(), end.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return end == "." ? "" : end;
}

bool is_hidden_file(const fs::path& file) { return file.filename().string().starts_with('.'); }

}  // namespace

void LeftOutFiles::add(const LeftOutFiles& more) {
  for (const auto& [ending, count] : more.by_ending) by_ending[ending] += count;
  beside += more.beside;
  below += more.below;
}

int64_t LeftOutFiles::total() const {
  int64_t all = beside + below;
  for (const auto& [ending, count] : by_ending) all += count;
  return all;
}

std::string LeftOutFiles::text() const {
  const int64_t all = total();
  if (all == 0) return "";
  std::vector<std::pair<int64_t, std::string>> endings;
  for (const auto& [ending, count] : by_ending) endings.emplace_back(count, ending);
  std::stable_sort(endings.begin(), endings.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string list;
  const auto tell = [&](int64_t count, const std::string& what) {
    if (count > 0) list += join(list.empty() ? "" : ", ", count, " ", what);
  };
  int64_t others = 0;
  for (std::size_t i = 0; i < endings.size(); ++i) {
    const auto& [count, ending] = endings[i];
    if (i < kMostEndings)
      tell(count, ending.empty() ? "without an ending" : ending);
    else
      others += count;
  }
  tell(others, "with other endings");
  tell(beside, "beside the folders of classes");
  tell(below, "in folders below a class");
  return join(all, all == 1 ? " file: " : " files: ", list);
}

bool is_picture_file(const fs::path& file) {
  return ending_of(file).empty() ? begins_as_picture(file) : is_picture_name(file.string());
}

FolderContent content_of(const fs::path& folder) {
  std::vector<fs::path> files;
  FolderContent content;
  std::error_code trouble, none;  // a dangling link is not a folder
  for (fs::directory_iterator at(folder, trouble), end; !trouble && at != end;
       at.increment(trouble)) {
    if (is_hidden_file(at->path())) continue;
    (at->is_directory(none) ? content.folders : files).push_back(at->path());
  }
  check(!trouble, "cannot read the folder '", folder.string(), "': ", trouble.message());
  std::sort(content.folders.begin(), content.folders.end());
  std::sort(files.begin(), files.end());
  for (fs::path& file : files)
    if (is_picture_file(file))
      content.pictures.push_back(std::move(file));
    else
      ++content.left_out.by_ending[ending_of(file)];
  return content;
}

PicturesBelow pictures_below(const fs::path& folder) {
  PicturesBelow all;
  std::vector<fs::path> folders{folder};
  for (std::size_t i = 0; i < folders.size(); ++i) {
    FolderContent content = content_of(folders[i]);
    for (const fs::path& file : content.pictures) all.pictures.push_back(file.string());
    if (i > 0) all.nested += static_cast<int64_t>(content.pictures.size());
    all.left_out.add(content.left_out);
    for (fs::path& below : content.folders)
      if (!fs::is_symlink(below)) folders.push_back(std::move(below));  // links may form a cycle
  }
  std::sort(all.pictures.begin(), all.pictures.end());
  return all;
}

}  // namespace lockstep
