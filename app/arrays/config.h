// SPDX-License-Identifier: Apache-2.0
// The YAML configuration of `lockstep train` for any network on arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/arrays/loss_terms.h"
#include "app/arrays/metrics.h"
#include "app/config/files.h"
#include "app/config/key.h"
#include "app/config/trained_keys.h"
#include "app/train/settings.h"
#include "lockstep/feeds.h"

namespace lockstep {

// The usual MODEL.TYPE and DATA.NAME; network_type.h and example_source.h list the others.
inline constexpr const char* kArrays = "arrays";

// config_keys.cc lists the keys and their meanings.
struct ArraysConfig : TrainSettings {
  std::string model = kArrays;
  std::string onnx;
  int64_t classes = 0;  // 0: not said
  int64_t width = 16, depth = 3;
  std::string loss = "loss";
  TrainedKeys trained;
  std::string weights;

  std::string dataset = kArrays;
  std::string train, test;
  std::string columns, sources, padding;
  std::vector<int64_t> buckets;
  bool whole = false, shuffle = true;
  int64_t data_threads = 2;
  std::string data_root;
  int64_t image_size = 224, resize = 256;
  std::vector<double> crop_scale{0.25, 1};
  bool flip = true;
  int64_t train_size = 8000, test_size = 200;

  int64_t batch_size = 32;
  std::string metrics;

  // In masks, pixels without a class do not count, unless a term or a metric has `ignore`.
  std::vector<LossTerm> loss_terms() const;
  std::vector<Metric> test_metrics() const;
};
ConfigKeys keys_of(ArraysConfig& config);

// Throws with file:line and key for values that do not fit together, or that do not fit `processes`
// processes with DEVICES each.
ArraysConfig read_arrays_config(const ConfigFiles& files, const std::vector<std::string>& words,
                                int processes, Origins& origins);

BatchShares shares_of(const ArraysConfig& config, int64_t replicas);

}  // namespace lockstep
