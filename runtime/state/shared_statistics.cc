// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/shared_statistics.h"

#include <cstring>

#include "runtime/dist/agree.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

// Returns the value of each running statistic on replica 0 of the run, in the order of the states.
std::vector<Literal> of_replica_0(const Session& session,
                                  const std::vector<const State*>& computed) {
  std::vector<Literal> values;
  std::string bytes;
  for (const State* state : computed) {
    values.push_back(states_of(session).read(state->values[0]));
    const std::span<const std::byte> value = values.back().bytes();
    bytes.append(reinterpret_cast<const char*>(value.data()), value.size());
  }
  if (!session.comm()) return values;
  bytes = share_text(*session.comm(), bytes, "running statistics");
  std::size_t at = 0;
  for (Literal& value : values) {
    if (!value.bytes().empty())
      std::memcpy(value.bytes().data(), bytes.data() + at, value.bytes().size());
    at += value.bytes().size();
  }
  return values;
}

}  // namespace

void with_statistics_of_replica_0(Session& session, const std::function<void()>& predict) {
  std::vector<const State*> computed;
  for (const State& state : session.model().states)
    if (state.kind == StateKind::computed) computed.push_back(&state);
  if (computed.empty() || (!session.comm() && session.model().replicas == 1)) return predict();
  const std::vector<Literal> first = of_replica_0(session, computed);
  StateValues own, shared;
  for (std::size_t i = 0; i < computed.size(); ++i)
    for (const std::string& name : computed[i]->values) {
      own.emplace(name, states_of(session).read(name));
      shared.emplace(name, first[i]);
    }
  session.load(shared);
  predict();
  session.load(own);
}

}  // namespace lockstep
