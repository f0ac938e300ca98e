// SPDX-License-Identifier: Apache-2.0
// The YAML configuration of `lockstep train` for classification. Keys have Detectron's names where
// possible.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/config/files.h"
#include "app/config/key.h"
#include "app/config/trained_keys.h"
#include "app/train/settings.h"

namespace lockstep {

// config_keys.cc lists the keys and their meanings.
struct ClassificationConfig : TrainSettings {
  std::string model = "lenet";
  int64_t classes = 10;
  std::vector<int64_t> hidden = {256, 128};

  bool stride_in_1x1 = false;
  bool zero_init_gamma = true;

  std::string onnx;
  TrainedKeys trained;
  bool new_classifier = false;
  std::string weights;

  std::string dataset = "digits";
  std::string data_root;
  int64_t train_size = 10000;
  int64_t test_size = 2000;
  int64_t image_size = 224;
  int64_t resize = 256;
  std::vector<double> crop_scale{0.08, 1};
  bool flip = true;
  std::vector<int64_t> rand_augment;  // number of operations, magnitude; empty: none
  std::vector<double> colour_jitter;  // brightness, contrast, saturation, hue; empty: none
  bool bytes = false;
  int64_t data_threads = 0;

  int64_t batch_size = 64;
  bool skip_bad_images = false;
  double label_smoothing = 0;
  double mixup = 0;  // the parameter of the shares' Beta distribution; 0: pictures stay apart

  // Every key with its value as text, in a fixed order.
  std::vector<std::pair<std::string, std::string>> entries() const;
  // A YAML text that parses to an equal configuration.
  std::string yaml() const;
};
// The keys, in the order of the reference page.
ConfigKeys keys_of(ClassificationConfig& config);

// Reads the file, then the overrides (KEY VALUE KEY VALUE ..). Throws with file:line for an unknown
// key (and suggests the nearest key), for a value of the wrong kind and for a value out of range.
// Also throws if the configuration does not fit `processes` processes with DEVICES each.
ClassificationConfig read_config(const std::string& path, const std::vector<std::string>& overrides,
                                 int processes = 1);
// Reads a configuration from files in memory. Records in `origins` where each value came from.
ClassificationConfig read_config(const ConfigFiles& files,
                                 const std::vector<std::string>& overrides, int processes,
                                 Origins& origins);

}  // namespace lockstep
