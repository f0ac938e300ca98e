// SPDX-License-Identifier: Apache-2.0
// Reads the configuration of any task but detection.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/config/files.h"
#include "app/config/read.h"

namespace lockstep {

// Config is a TrainSettings with keys_of(). `words` are KEY VALUE pairs. check(config) refuses
// values that do not fit together, in errors that name the keys.
template <class Config, class Check>
Config read_settings(const ConfigFiles& files, const std::vector<std::string>& words,
                     Origins& origins, const Check& check) {
  const std::string& path = files.back().path;
  Config config;
  config.path = path;
  config.output_dir = "runs/" + std::filesystem::path(path).stem().string();
  ConfigKeys keys = keys_of(config);
  read_files(keys, files, origins);
  read_words(keys, words, &origins);
  placing(origins, path, [&] { check(config); });
  return config;
}

}  // namespace lockstep
