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

inline constexpr const char* kArrays = "arrays";  // MODEL.TYPE and DATA.NAME

// config_keys.cc lists the keys and their meanings.
struct ArraysConfig : TrainSettings {
  std::string model = kArrays;
  std::string onnx;
  std::string loss = "loss";
  TrainedKeys trained;
  std::string weights;

  std::string dataset = kArrays;
  std::string train, test;
  std::string columns, sources, padding;
  std::vector<int64_t> buckets;
  bool whole = false, shuffle = true;
  int64_t data_threads = 2;

  int64_t batch_size = 32;
  std::string metrics;

  std::vector<LossTerm> loss_terms() const { return parse_loss_terms(loss); }
  std::vector<Metric> test_metrics() const { return parse_metrics(metrics); }
};
ConfigKeys keys_of(ArraysConfig& config);

// Throws with file:line and key for values that do not fit together, or that do not fit `processes`
// processes with DEVICES each.
ArraysConfig read_arrays_config(const ConfigFiles& files, const std::vector<std::string>& words,
                                int processes, Origins& origins);

BatchShares shares_of(const ArraysConfig& config, int64_t replicas);

}  // namespace lockstep
