// SPDX-License-Identifier: Apache-2.0
// The YAML configuration of `lockstep train` for language models.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/config/files.h"
#include "app/config/key.h"
#include "app/train/settings.h"
#include "lockstep/feeds.h"
#include "lockstep/models.h"

namespace lockstep {

// config_keys.cc lists the keys and their meanings.
struct TextConfig : TrainSettings {
  std::string model = "char_lstm";
  LanguageOptions network;  // without the number of characters, which the text determines
  std::string weights;

  std::vector<std::string> files, test_files;
  std::string root;
  int64_t data_threads = 1;

  int64_t batch_size = 32;
  int64_t sample_length = 400;
  double temperature = 0.8;
};
ConfigKeys keys_of(TextConfig& config);

// Throws with file:line and key for values that do not fit together, or that do not fit `processes`
// processes with DEVICES each.
TextConfig read_text_config(const ConfigFiles& files, const std::vector<std::string>& words,
                            int processes, Origins& origins);

BatchShares shares_of(const TextConfig& config, int64_t replicas);

}  // namespace lockstep
