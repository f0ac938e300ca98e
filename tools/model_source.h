// From what a user names on the command line (MODEL, CONFIG.yaml or FILE.onnx) to a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/io.h"
#include "runtime/feeds.h"
#include "tools/settings/step_settings.h"

namespace lockstep {

struct ModelRequest {
  std::string source;
  // KEY VALUE .., as read_words() takes them: all keys for a CONFIG.yaml, those of the step for a
  // model's name or a network with a loss, those of the run for a step that is a file already.
  std::vector<std::string> settings = {};
  std::string loss = "";          // of a network in FILE.onnx: the value to minimise
  bool train_batch_norm = false;  // of a network in FILE.onnx: also where training_mode is 0
  int64_t batch = 0;              // images of each replica; 0: as the configuration says, or 32
};

struct SourcedModel : LoadedModel {
  // Without `devices` for a file of which the user named none. `threads` are 1 for what is no
  // configuration and was given none.
  RunSettings run;
  BatchShares shares;  // of the batch of a step
};

// A model that is built here is not initialised.
SourcedModel model_from(const ModelRequest& request);

bool is_yaml(const std::string& path);
bool is_onnx(const std::string& path);

}  // namespace lockstep
