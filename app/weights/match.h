// SPDX-License-Identifier: Apache-2.0
// The values of a weights file for the parameters of a network, and a report about each.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "app/weights/place.h"
#include "app/weights/sources.h"
#include "lockstep/training_model.h"

namespace lockstep {

// True for a part of the network. Other states (momentum, deferred gradients, loss scale) belong to
// a run's training and start anew.
bool is_weight(StateKind kind);

// A key of a configuration that a source of weights may contradict.
struct ComparedKey {
  std::string key, value;
  std::string where;  // the beginning of an error: "x.yaml:12: RESNETS.STRIDE_1X1"
};

struct WeightsOptions {
  std::string path;  // .safetensors, or a URL of a file in the cache
  bool new_classifier =
      false;  // tensors that differ only in the number of classes keep their initial values
  int64_t classes = 0;
  bool whole = false;  // the file must have all tensors of the network
  // true: the parameters themselves, even if the file has their averages (w_ema).
  bool raw = false;
  std::string cache = "";     // DOWNLOAD_CACHE
  bool for_detector = false;  // names, pictures and last layers of a detector
  bool momentum = false;      // also takes the optimiser's slots
  bool whole_body = false;    // refuses a published body with tensors that no rule knows
  // false: loads although the source contradicts a key or has only a part of a body.
  bool must_agree = true;
  bool random_may_freeze = true;  // false: a frozen random tensor is an error
  // Keeps the error of a file that is refused in MatchedWeights::refusal, so that its tensors can
  // be listed.
  bool keeps_refusal = false;
  std::vector<ComparedKey> keys = {};  // of the configuration
};
inline WeightsPlace place_of_weights(const WeightsOptions& options) {
  return {options.path, options.cache};
}

// A tensor of a network that a file may have.
struct WeightSlot {
  std::string name;
  StateKind kind = StateKind::weight;
  TensorType type;
  bool is_frozen = false;  // a parameter that steps do not update
  bool is_random = false;  // its initial value is drawn
};
// In the order of the model's states; with the optimiser's slots that replicas share.
std::vector<WeightSlot> weight_slots(const TrainingModel& model);

enum class WeightFate { matched, begins_anew, missing, misfit };
struct WeightLine {
  std::string name;
  WeightFate fate = WeightFate::matched;
  std::string from = "";  // its name in the file
  std::string why = "";   // the reason why it begins anew or does not fit
};

struct MatchedWeights {
  StateValues values;  // by the names of states
  WeightsSource source;
  std::vector<WeightLine> lines;             // one for each weight of the network, in order
  std::vector<std::string> unused, momenta;  // names in the file
  std::vector<std::string> summary;          // a few lines for the user; none for a refused file
  std::exception_ptr refusal = nullptr;      // the first error, if the options keep it
};
// Throws, listing them, for different shapes; if nothing matches; if a key contradicts the
// source; if a value is not finite; and as the options say.
MatchedWeights matched_weights(const std::vector<WeightSlot>& slots, Safetensors file,
                               const WeightsOptions& options);

}  // namespace lockstep
