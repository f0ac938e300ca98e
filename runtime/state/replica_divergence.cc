// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/replica_divergence.h"

#include <cstring>
#include <sstream>

#include "lockstep/processes.h"
#include "runtime/dist/agree.h"
#include "runtime/exec/states.h"
#include "runtime/state/session_members.h"

namespace lockstep {
namespace {

std::string drift_within(const TrainingModel& model, const States& state) {
  for (const State& item : model.states) {
    if (differs_by_replica(item.kind)) continue;
    const Seen first = state.see(item.values[0]);
    for (std::size_t replica = 1; replica < item.values.size(); ++replica)
      if (std::memcmp(first.tensor.data, state.see(item.values[replica]).tensor.data,
                      first.tensor.desc.bytes()) != 0)
        return join("'", item.values[replica], "' differs from '", item.values[0], "'");
  }
  return "";
}

// Returns the digest of every state, one per line.
std::string digests(const TrainingModel& model, const States& state) {
  std::string lines;
  for (const State& item : model.states) {
    if (differs_by_replica(item.kind)) continue;
    const Seen seen = state.see(item.values[0]);
    lines += item.name + " " + digest(seen.tensor.data, seen.tensor.desc.bytes()) + "\n";
  }
  return lines;
}

std::string first_difference(const std::string& a, const std::string& b) {
  std::istringstream first(a), second(b);
  for (std::string left, right; std::getline(first, left) && std::getline(second, right);)
    if (left != right) return left.substr(0, left.rfind(' '));
  return "the list of states";
}

}  // namespace

std::string find_divergence(const Session& session) {
  std::string found = drift_within(session.model(), states_of(session));
  Comm* comm = session.comm();
  if (!comm) return found;
  const std::string mine = digests(session.model(), states_of(session));
  const auto drifts = gather_texts(*comm, found, "drift within processes");
  const auto all = gather_texts(*comm, mine, "digests of states");
  for (std::size_t rank = 0; rank < all.size() && found.empty(); ++rank) {
    found = drifts[rank];
    if (found.empty() && all[rank] != mine)
      found = join("'", first_difference(mine, all[rank]), "' on rank ", rank,
                   " differs from rank 0's");
  }
  return share_text(*comm, found, "drift");
}

}  // namespace lockstep
