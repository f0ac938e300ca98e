// SPDX-License-Identifier: Apache-2.0
// The files of a set of arrays: NAME.EXTENSION, or the shards NAME-00000.EXTENSION,
// NAME-00001.EXTENSION, .., also NAME-00001-of-00003.EXTENSION.
#pragma once

#include <string>
#include <vector>

namespace lockstep {

// A file, or the shards of one name in their order.
struct ArrayFiles {
  std::string name, extension;
  std::vector<std::string> paths;
};

// The files of a folder, by name, or the file itself. Files of other kinds and hidden files of a
// folder are left out. Throws for a missing shard, for a name with and without shards, and if there
// is no file.
std::vector<ArrayFiles> array_files(const std::string& path);

// True if a folder has a file that cannot be a single tensor: a shard, or a file of several arrays.
bool has_files_of_sets(const std::string& folder);

}  // namespace lockstep
