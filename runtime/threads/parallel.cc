// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads/parallel.h"

#include <algorithm>
#include <system_error>

#include "runtime/threads/team.h"

namespace lockstep {
namespace detail {
namespace {

constexpr int64_t kPieces = 16;  // for each thread
constexpr int64_t kMostPieces = 1 << 15;

struct Ranges {
  int64_t count;
  RangeBody body;
  void* context;
};

void run_piece(void* data, int piece, int pieces) {
  const Ranges& all = *static_cast<const Ranges*>(data);
  all.body(all.context, place_in_team().member, all.count * piece / pieces,
           all.count * (piece + 1) / pieces);
}

}  // namespace

void run_ranges(int64_t count, int64_t grain, int threads, RangeBody body, void* context) {
  if (place_in_team().inside()) return body(context, 0, 0, count);
  Team& team = Team::of_this_thread();
  if (team.threads() < threads) {
    try {
      team.grow(threads);
    } catch (const std::system_error&) {
      // The caller does all the work.
    }
  }
  Ranges all{count, body, context};
  const int64_t pieces = std::max<int64_t>(1, count / std::max<int64_t>(1, grain));
  team.run(static_cast<int>(std::min({pieces, kPieces * threads, kMostPieces})), threads, run_piece,
           &all);
}

}  // namespace detail
}  // namespace lockstep
