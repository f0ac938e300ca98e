// SPDX-License-Identifier: Apache-2.0
// The tensors of a weights file under the names of a network.
#pragma once

#include <map>
#include <set>
#include <string>

#include "app/weights/sources.h"

namespace lockstep {

struct TranslationOptions {
  std::string path;           // for errors
  bool for_detector = false;  // gives a classifier's tensors the names of a detector
  bool raw = false;           // the parameters themselves, even if the file has their averages
  std::set<std::string> kept = {};  // names of the network, which stay as they are
};

struct TranslatedWeights {
  StateValues tensors;                      // tensors without a rule keep their names
  std::map<std::string, std::string> from;  // a new name: the name in the file
  std::set<std::string> folded;             // names in the file that other tensors contain
};
TranslatedWeights translated(StateValues file, const WeightsSource& source,
                             const TranslationOptions& options);

}  // namespace lockstep
