// SPDX-License-Identifier: Apache-2.0
#include "builders/step/precision.h"

#include "graph/passes/precision.h"
#include "lockstep/error.h"

namespace lockstep {

void lower_precision(TrainingModel& model, DType narrow) {
  std::set<std::string> known;
  for (const auto* items : {&model.losses, &model.metrics, &model.checks, &model.gradients})
    for (const Replicated& item : *items) known.insert(item.values.begin(), item.values.end());
  for (const Binding& update : model.updates) known.insert(update.value);
  model.step = in_precision(model.step, {narrow, std::move(known)});
}

DType parse_precision(const std::string& text) {
  for (const TypeInfo& info : all_types())
    if (computes_in_float32(info.type) && text == info.name) return info.type;
  fail("the precision is '", text, "', should be float32, ", narrow_names());
}

}  // namespace lockstep
