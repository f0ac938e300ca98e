// SPDX-License-Identifier: Apache-2.0
// `lockstep diff A B`: everything in which two steps, models, configurations, runs or files of
// weights differ.
#pragma once

#include <string>
#include <vector>

#include "app/diff/change.h"

namespace lockstep {

struct DiffRequest {
  std::string a, b;  // FILE.onnx, FILE.safetensors, CONFIG.yaml, a run's folder, a model's name
  // KEY VALUE .., in the form of read_words(): for both sides, and for b alone.
  std::vector<std::string> settings = {}, settings_of_b = {};
  bool weights = false;  // compares the values of states, too
  bool plan = false;     // compares the plans of the steps, too
};

struct DiffResult {
  std::string a, b;
  Changes changes = {};
  int replicas = 1;                        // that both steps have
  std::vector<std::string> compared = {};  // "133 keys", "190 nodes"
  std::vector<std::string> notes = {};     // parts that only one side has, for people
};

// Throws an Error for a source that cannot be read, and for two sources with nothing to compare.
DiffResult diff(const DiffRequest& request);

}  // namespace lockstep
