// SPDX-License-Identifier: Apache-2.0
#include "app/trace/gathered_traces.h"

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "lockstep/error.h"
#include "runtime/dist/agree.h"

namespace lockstep {
namespace {

constexpr uint64_t kLongestTrace = uint64_t{1} << 30U;  // bytes of a rank

// A rank without a trace.
RankTrace without_trace(int rank, const std::string& why) {
  RankTrace none;
  none.rank = rank;
  none.missing = why;
  return none;
}

// The text that a rank sends. Rank 0 awaits one from each rank, so every rank sends one.
std::string text_to_send(const RankTrace& mine) {
  std::string why;
  try {
    std::string text = packed(mine);
    if (text.size() <= kLongestTrace) return text;
    why = join("it has ", text.size(), " bytes, more than ", kLongestTrace);
  } catch (const std::exception& error) {
    why = error.what();
  }
  return packed(without_trace(mine.rank, why));
}

RankTrace received(int rank, const std::string& text) try {
  RankTrace trace = unpacked(text);
  check(trace.rank == rank, "rank ", rank, " sent the trace of rank ", trace.rank);
  return trace;
} catch (const std::exception& error) {
  return without_trace(rank, error.what());
}

}  // namespace

std::vector<RankTrace> gather_traces(RankTrace mine, Comm* comm) {
  std::vector<RankTrace> ranks;
  if (comm) {
    const bool leads = comm->rank() == 0;
    auto texts = gather_texts(*comm, leads ? "" : text_to_send(mine), "the trace", kLongestTrace);
    if (!leads) return {};
    for (std::size_t rank = 1; rank < texts.size(); ++rank) {
      ranks.push_back(received(static_cast<int>(rank), texts[rank]));
      std::string().swap(texts[rank]);  // its memory is needed for the others
    }
  }
  ranks.insert(ranks.begin(), std::move(mine));
  return ranks;
}

}  // namespace lockstep
