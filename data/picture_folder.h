// SPDX-License-Identifier: Apache-2.0
// Finds the pictures among the files of a folder. Hidden files (.DS_Store, macOS's ._NAME) and
// hidden folders are ignored and not counted as left out, because file systems and programs store
// metadata in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

// Files that are not read as pictures.
struct LeftOutFiles {
  std::map<std::string, int64_t> by_ending;  // such as .tif; "": no ending, and not a picture
  int64_t beside = 0;                        // files beside the folders of classes
  int64_t below = 0;                         // files in folders below a class

  void add(const LeftOutFiles& more);
  int64_t total() const;
  // A text such as "41 files: 30 .tif, 11 in folders below a class"; "" for no files.
  std::string text() const;
};

// True if the name has a picture's ending, in upper or lower case. A file without an ending is a
// picture if its first bytes are a picture's.
bool is_picture_file(const std::filesystem::path& file);

// The content of a folder, sorted by name, without the content of folders below.
struct FolderContent {
  std::vector<std::filesystem::path> pictures, folders;
  LeftOutFiles left_out;  // among the folder's own files
};
// Throws an error with the folder's name if the folder cannot be read.
FolderContent content_of(const std::filesystem::path& folder);

// All pictures below a folder, sorted by path.
struct PicturesBelow {
  std::vector<std::string> pictures;
  int64_t nested = 0;  // number of pictures in folders below the folder
  LeftOutFiles left_out;
};
PicturesBelow pictures_below(const std::filesystem::path& folder);

}  // namespace lockstep
