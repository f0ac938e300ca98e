// SPDX-License-Identifier: Apache-2.0
#include "app/step/results.h"

#include <cstring>

#include "app/onnx/tensor_files.h"
#include "app/weights/match.h"
#include "graph/average.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

Literal copy_of(const Tensor& tensor) {
  Literal copy(tensor.desc.dtype, tensor.desc.dims);
  if (tensor.count() > 0) std::memcpy(copy.bytes().data(), tensor.data, tensor.desc.bytes());
  return copy;
}

}  // namespace

bool is_result(StateKind kind) { return is_weight(kind) || kind == StateKind::average; }

std::map<std::string, Dims> renewed_initializers(const Session& session) {
  std::map<std::string, Dims> shapes;
  for (const State& state : session.model().states)
    if (is_weight(state.kind))
      shapes.emplace(state.name, states_of(session).at(state.values[0]).desc.dims);
  return shapes;
}

StateValues new_values(const Session& session, bool averages) {
  StateValues values;
  for (const State& state : session.model().states)
    if (is_weight(state.kind)) values.insert_or_assign(state.name, session.read(state.values[0]));
  for (const State& state : session.model().states)
    if (averages && state.kind == StateKind::average)
      values.insert_or_assign(averaged_by(state.name), session.read(state.values[0]));
  return values;
}

void write_step_results(const std::string& folder, const std::string& loss,
                        const std::vector<float>& losses, std::span<const Tensor> gradients,
                        const Session& session) {
  const TrainingModel& model = session.model();
  const Dims dims = losses.size() == 1 ? Dims{} : Dims{static_cast<int64_t>(losses.size())};
  write_tensor(folder, loss, Literal::of<float>(losses, dims));
  for (std::size_t i = 0; i < model.gradients.size(); ++i)
    write_tensor(folder, model.gradients[i].name + "_grad", copy_of(gradients[i]));
  for (const State& state : model.states)
    if (is_result(state.kind)) write_tensor(folder, state.name, session.read(state.values[0]));
}

}  // namespace lockstep
