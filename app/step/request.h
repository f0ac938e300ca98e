// SPDX-License-Identifier: Apache-2.0
// The words of `lockstep step`: training steps of a network in an ONNX file that computes its loss.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/trace/request.h"

namespace lockstep {

struct StepRequest {
  std::string network;  // FILE.onnx
  std::string loss;     // the value to minimise
  std::string inputs;   // arrays: a folder or a file
  int64_t batch = 0;    // rows of a step; 0: all
  int64_t steps = 1;
  // Files to write; nothing: not written.
  std::optional<std::string> outputs;      // a folder for loss, gradients and new values
  std::optional<std::string> new_network;  // the network's file with the new values
  std::optional<std::string> state;        // also read, if it exists
  // KEY VALUE .., in the form of read_words(), and flags without a key of their own.
  std::vector<std::string> settings;
  std::optional<double> rate;
  std::optional<float> momentum, weight_decay;
  std::optional<int64_t> seed;
  TraceRequest trace;
};

}  // namespace lockstep
