// SPDX-License-Identifier: Apache-2.0
// TRAIN.RESIDENT: the training set that a run keeps on its devices, as the step's builder needs it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/train/settings.h"
#include "lockstep/data_parallel.h"
#include "lockstep/loader.h"

namespace lockstep {

struct ResidentSet {
  MinibatchForm example;  // the tensors of one example, whose names are inputs of the network
  int64_t examples = 0;   // of the set
  int64_t batch = 1;      // of a step, over all replicas of all processes
  std::string of;         // the examples for people: a plural, "pictures"

  // The minibatches that stay on the devices. Further examples fill no minibatch.
  int64_t minibatches() const { return examples / batch; }
};

// The resident inputs of a step for `processes` processes. Nothing if TRAIN.RESIDENT is false.
// Throws if the set fills no minibatch, or if this process has no memory for its part.
ResidentInputs resident_inputs(const TrainSettings& settings, const ResidentSet& set,
                               int processes);

// The key TRAIN.RESIDENT.
ConfigKeys resident_keys(TrainSettings& settings);

// A change of examples that differs in each epoch.
struct DrawnChange {
  bool asked = false;
  Phrase what;          // "DATA.FLIP mirrors pictures"
  std::string way_out;  // "set DATA.FLIP false"; "": there is none
};
// Throws naming the first change that is asked for: resident examples are read once.
void check_drawn_once(const TrainSettings& settings, const std::vector<DrawnChange>& changes);

// The configuration of a test, which needs no training set on its devices.
template <class Config>
Config without_resident(Config config) {
  config.resident = false;
  return config;
}

}  // namespace lockstep
