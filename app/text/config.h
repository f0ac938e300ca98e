// SPDX-License-Identifier: Apache-2.0
// The YAML configuration of `lockstep train` for language models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/config/files.h"
#include "app/config/key.h"
#include "app/train/settings.h"
#include "models/models.h"
#include "runtime/feeds.h"

namespace lockstep {

// For its keys and their meanings see config_keys.cc.
struct TextConfig : TrainSettings {
  std::string model = "char_lstm";
  LanguageOptions network;  // without the characters, which the text decides
  std::string weights;

  std::vector<std::string> files, test_files;
  std::string root;
  int64_t data_threads = 1;

  int64_t batch_size = 32;
  int64_t sample_length = 400;
  double temperature = 0.8;
};
ConfigKeys keys_of(TextConfig& config);

// Throws with file:line and the key for what does not fit, also for so many processes, each with
// DEVICES of its own.
TextConfig read_text_config(const ConfigFiles& files, const std::vector<std::string>& words,
                            int processes, Origins& origins);

BatchShares shares_of(const TextConfig& config, int64_t replicas);

}  // namespace lockstep
