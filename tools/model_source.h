// From what a user names on the command line (MODEL, CONFIG.yaml or FILE.onnx) to a model.
#pragma once

#include <string>

#include "graph/io.h"

namespace lockstep {

struct ModelRequest {
  std::string source;
  std::string devices = "";  // "": the file's own replicas, or what the configuration says, or cpu
  std::string all_reduce = "";    // "": what the configuration says, or collective
  std::string ring_order = "";    // "": what the configuration says, or 0,1,..
  std::string packing = "";       // "": what the configuration says, or none
  std::string buckets = "";       // a file with a plan of buckets
  std::string wire = "";          // "": what the configuration says, or as the gradients are
  std::string precision = "";     // "": what the configuration says, or float32
  std::string topology = "";      // "": what the configuration says, or Topology's own
  std::string loss = "";          // of a network in FILE.onnx: the value to minimise
  bool train_batch_norm = false;  // of a network in FILE.onnx: also where training_mode is 0
};

// A model that is built here is not initialised.
LoadedModel model_from(const ModelRequest& request);

bool is_yaml(const std::string& path);
bool is_onnx(const std::string& path);

}  // namespace lockstep
