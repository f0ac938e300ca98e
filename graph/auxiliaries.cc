// SPDX-License-Identifier: Apache-2.0
#include "graph/auxiliaries.h"

#include <charconv>
#include <set>

#include "graph/limits.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr const char* kAuxiliaries = "auxiliary devices";

}  // namespace

int auxiliaries_of(const TrainingModel& model) {
  const auto found = model.metadata.find(kAuxiliaries);
  if (found == model.metadata.end()) return 0;
  const std::string& text = found->second;
  int count = -1;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), count);
  check(trouble == std::errc() && end == text.data() + text.size() && count >= 0 &&
            count <= kMostReplicas,
        "metadata: '", kAuxiliaries, "' is '", printable(text), "', should be a number from 0 to ",
        kMostReplicas, "; build the step again, with --aux-devices");
  return count;
}

void set_auxiliaries(TrainingModel& model, int count) {
  check(count >= 0 && count <= kMostReplicas, count, " auxiliary devices; 0 to ", kMostReplicas,
        " are possible (AUX_DEVICES, --aux-devices)");
  model.metadata.erase(kAuxiliaries);
  if (count > 0) model.metadata.emplace(kAuxiliaries, std::to_string(count));
}

int unused_auxiliaries(const TrainingModel& model) {
  std::set<int> busy;
  for (int index = 0; index < model.step.node_count(); ++index)
    if (const int place = model.step.node(index).replica(); place >= model.replicas)
      busy.insert(place);
  return auxiliaries_of(model) - static_cast<int>(busy.size());
}

}  // namespace lockstep
