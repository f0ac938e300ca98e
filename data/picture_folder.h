// SPDX-License-Identifier: Apache-2.0
// The pictures among the files of a folder. Hidden files (.DS_Store, macOS's ._NAME) and hidden
// folders are neither pictures nor left out: file systems and programs keep their notes in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

// Files that are not read as pictures.
struct LeftOutFiles {
  std::map<std::string, int64_t> by_ending;  // .tif; "": without an ending, and not a picture
  int64_t beside = 0;                        // files beside the folders of classes
  int64_t below = 0;                         // files in folders below a class

  void add(const LeftOutFiles& more);
  int64_t total() const;
  // "41 files: 30 .tif, 11 in folders below a class"; "": there are none.
  std::string text() const;
};

// A name that ends as pictures' names do, in any case. A file without an ending is
// opened: its first bytes decide.
bool is_picture_file(const std::filesystem::path& file);

// The content of a folder, by name, without the content of folders below.
struct FolderContent {
  std::vector<std::filesystem::path> pictures, folders;
  LeftOutFiles left_out;  // of the folder's own files
};
// Throws naming the folder if it cannot be read.
FolderContent content_of(const std::filesystem::path& folder);

// All pictures below a folder, by path.
struct PicturesBelow {
  std::vector<std::string> pictures;
  int64_t nested = 0;  // of them, in folders of the folder
  LeftOutFiles left_out;
};
PicturesBelow pictures_below(const std::filesystem::path& folder);

}  // namespace lockstep
