#include "runtime/shared_statistics.h"

#include <cstring>

#include "runtime/agree.h"

namespace lockstep {

void with_statistics_of_rank_0(Session& session, const std::function<void()>& predict) {
  if (!session.comm()) return predict();
  // Those that this rank's prediction reads. Their names differ by rank, their order does not.
  std::vector<std::string> names;
  for (const State& state : session.model().states)
    if (state.kind == StateKind::computed) names.push_back(state.values[0]);
  StateValues own;
  std::string bytes;
  for (const std::string& name : names) {
    const Literal& value = own.emplace(name, session.state().read(name)).first->second;
    bytes.append(reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size());
  }
  bytes = share_text(*session.comm(), bytes, "running statistics");
  StateValues of_rank_0 = own;
  std::size_t at = 0;
  for (const std::string& name : names) {
    const std::span<std::byte> value = of_rank_0.at(name).bytes();
    if (!value.empty()) std::memcpy(value.data(), bytes.data() + at, value.size());
    at += value.size();
  }
  session.load(of_rank_0);
  predict();
  session.load(own);
}

}  // namespace lockstep
