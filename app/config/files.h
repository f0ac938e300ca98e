// SPDX-License-Identifier: Apache-2.0
// A CONFIG.yaml and the files it includes by `_BASE_: other.yaml` or `_BASE_: [a.yaml, b.yaml]`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config/origin.h"
#include "app/config/peek.h"

namespace lockstep {

struct ConfigFile {
  std::string path, text;
};
// Each file follows its bases, which keep the order of their list. The last element is the file
// itself.
using ConfigFiles = std::vector<ConfigFile>;

// A base's path is relative to the file that includes it. Throws for a circle, naming its files.
ConfigFiles config_files(const std::string& path);

// Reads the values of all files, later ones over earlier ones.
void read_files(ConfigKeys& keys, const ConfigFiles& files, Origins& origins);

// The last value that the files and then the words (KEY VALUE ..) give a key, before a table of
// keys is chosen. None if they do not set the key.
std::optional<PlacedText> said_of(const std::string& key, const ConfigFiles& files,
                                  const std::vector<std::string>& words);

}  // namespace lockstep
