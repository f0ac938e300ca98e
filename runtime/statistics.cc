#include "runtime/statistics.h"

#include <cstring>

#include "runtime/agree.h"

namespace lockstep {
namespace {

// Those that this rank's prediction reads.
StateValues statistics_of(const Session& session) {
  StateValues values;
  for (const State& state : session.model().states)
    if (state.kind == StateKind::computed)
      values.emplace(state.values[0], session.state().read(state.values[0]));
  return values;
}

// Names differ by rank, their order does not: see State::values.
std::string in_order(const TrainingModel& model, const StateValues& values) {
  std::string bytes;
  for (const State& state : model.states)
    if (auto value = values.find(state.values[0]); value != values.end())
      bytes.append(reinterpret_cast<const char*>(value->second.bytes().data()),
                   value->second.bytes().size());
  return bytes;
}

}  // namespace

SharedStatistics::SharedStatistics(Session& session) : session_(session) {
  if (!session.comm()) return;
  own_ = statistics_of(session);
  const std::string shared =
      share_text(*session.comm(), in_order(session.model(), own_), "running statistics");
  StateValues of_rank_0 = own_;
  std::size_t at = 0;
  for (const State& state : session.model().states)
    if (auto value = of_rank_0.find(state.values[0]); value != of_rank_0.end()) {
      const std::span<std::byte> bytes = value->second.bytes();
      std::memcpy(bytes.data(), shared.data() + at, bytes.size());
      at += bytes.size();
    }
  session.load(of_rank_0);
}

SharedStatistics::~SharedStatistics() { session_.load(own_); }

}  // namespace lockstep
