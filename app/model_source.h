// SPDX-License-Identifier: Apache-2.0
// Resolves a command line's MODEL, CONFIG.yaml or FILE.onnx to a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/config/step_settings.h"
#include "lockstep/feeds.h"
#include "lockstep/model_files.h"

namespace lockstep {

struct ModelRequest {
  std::string source;
  // KEY VALUE .., in the form of read_words(): all keys for a CONFIG.yaml, the step's keys for a
  // model's name or a network with a loss, the run's keys for a file with a step.
  std::vector<std::string> settings = {};
  std::string loss = "";      // for a network in FILE.onnx: the value to minimise
  bool forward_only = false;  // builds only the forward pass of a step
  int64_t batch = 0;          // images per replica; 0: from the configuration, or 32
};

struct SourcedModel : LoadedModel {
  // `devices` is empty for a file if the user named no devices. Without a configuration `threads`
  // is 1 by default.
  RunSettings run;
  BatchShares shares;                   // of the step's batch
  std::string network = "";             // the name of a model of models.h; empty for other sources
  std::vector<std::string> notes = {};  // about the parameters of a network in an ONNX file
  bool configured = false;              // by a CONFIG.yaml, whose data a loader reads
};

// A model built here is not initialised.
SourcedModel model_from(const ModelRequest& request);

// A table of the initializers of a network in FILE.onnx: which are trained for request.loss, or
// for the only output of floats, and why.
std::string initializers_of(const ModelRequest& request);

// Every key of a CONFIG.yaml with its value and the value's origin, as YAML. Builds no model.
std::string configuration_of(const ModelRequest& request);

// If the request asks for the forward pass alone, keeps only the options that a forward pass can
// use.
void choose_passes(const ModelRequest& request, StepSettings& step);

bool is_yaml(const std::string& path);
bool is_onnx(const std::string& path);

}  // namespace lockstep
