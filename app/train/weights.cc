// SPDX-License-Identifier: Apache-2.0
#include "app/train/weights.h"

#include <cstring>
#include <utility>

#include "graph/average.h"
#include "lockstep/checkpoint.h"
#include "lockstep/processes.h"
#include "runtime/dist/agree.h"
#include "runtime/state/safetensors.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

// Sends rank 0's values to every process: each by its name, like a broadcast of each variable.
void share(const Session& session, StateValues& values, bool momentum) {
  for (const State& state : session.model().states) {
    if (!is_weight(state.kind) && (!momentum || state.kind != StateKind::slot)) continue;
    const TensorDesc& desc = states_of(session).at(state.values[0]).desc;
    std::string bytes;
    if (const auto mine = values.find(state.name); mine != values.end())
      bytes.assign(reinterpret_cast<const char*>(mine->second.bytes().data()), desc.bytes());
    bytes = share_text(*session.comm(), bytes, "the first value of '" + state.name + "'", 0,
                       desc.bytes());
    if (bytes.size() != desc.bytes()) continue;  // the value is not in the file
    Literal value(desc.dtype, desc.dims);
    std::memcpy(value.bytes().data(), bytes.data(), bytes.size());
    values.insert_or_assign(state.name, std::move(value));
  }
}

void load(Session& session, const StateValues& values) {
  StateValues of_replicas;
  for (const State& state : session.model().states)
    if (const auto found =
            values.find(state.kind == StateKind::average ? averaged_by(state.name) : state.name);
        found != values.end())
      for (const std::string& value : state.values) of_replicas.emplace(value, found->second);
  session.load(of_replicas);
}

}  // namespace

void check_weights(const std::string& path) {
  weights_file({path});
  try {
    read_safetensors(path);
  } catch (const Error& damage) {
    const std::string before = previous_of(path);
    try {
      read_safetensors(before);
    } catch (const Error&) {
      throw damage;
    }
    fail(damage.what(), "; the previous checkpoint is intact: ", before);
  }
}

WeightsReport load_weights(Session& session, const WeightsOptions& options) {
  const bool reads = !session.comm() || session.comm()->rank() == 0;
  StateValues values;
  WeightsReport report;
  if (reads) {
    Safetensors file = read_safetensors(weights_file(place_of_weights(options)));
    const bool is_checked = file.checked;
    MatchedWeights found = matched_weights(weight_slots(session.model()), std::move(file), options);
    report.lines = std::move(found.summary);
    values = std::move(found.values);
    if (!is_checked) report.unchecked = {"  " + unchecked_line(options.path)};
    report.lines.insert(report.lines.begin() + 1, report.unchecked.begin(), report.unchecked.end());
  }
  if (session.comm()) share(session, values, options.momentum);
  load(session, values);
  return report;
}

WeightsReport load_weights(Session& session, const StateValues& tensors,
                           const WeightsOptions& options) {
  Safetensors file;
  file.tensors = tensors;
  WeightsOptions by_names = options;  // the tensors of a trained network have no source
  by_names.must_agree = false;
  MatchedWeights found = matched_weights(weight_slots(session.model()), std::move(file), by_names);
  load(session, found.values);
  return {std::move(found.summary), {}};
}

}  // namespace lockstep
