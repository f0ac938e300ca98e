// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fed_batch.h"

#include "tools/bench/random_rows.h"

namespace lockstep {

FedBatch::FedBatch(const TrainingModel& model, int64_t rows, int64_t classes) {
  PhiloxSequence random(1, 1);
  for (const StepInput& input : model.inputs) {
    if (input.role != Role::data) continue;
    const TensorType& type = model.step.type(model.step.at(input.values[0]));
    Shape shape = type.shape;
    shape.at(0) = rows;
    inputs_.emplace(input.feed(), random_rows(type.dtype, to_dims(shape), classes, random));
  }
}

void FedBatch::set(Feeds& feeds) const {
  for (const auto& [name, rows] : inputs_) feeds.set(name, view_of(rows));
}

}  // namespace lockstep
