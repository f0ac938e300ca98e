// SPDX-License-Identifier: Apache-2.0
// The ways in which the builder's all-reduce algorithms send (builders/all_reduce).
#pragma once

#include <cstdint>
#include <vector>

#include "app/simulate/round_writer.h"

namespace lockstep {

// Members exchange a piece each with all others, directly.
void scatter_pieces(RoundWriter& to, const Members& members, bool narrow = true);
// Within each group: whole tensors to the first member, which adds them, or from the first member.
void send_to_first(RoundWriter& to, const std::vector<Members>& groups, bool narrow);
void send_from_first(RoundWriter& to, const std::vector<Members>& groups, bool narrow = true);
// Gatherers add a piece each, and send it back. taking_turns() chooses them among `all`. The first
// members of `early` send whole sums to their groups in the same round.
void send_by_gatherers(RoundWriter& to, const Members& members, const Members& gatherers,
                       const std::vector<Members>& early = {});
Members taking_turns(const Members& all, int64_t shards, int64_t turn);
void send_by_rings(RoundWriter& to, const Members& members, int processes, int64_t rings,
                   const std::vector<int>& order);
// Recursive halving and doubling, and the same in groups by prime factors.
void send_by_halving(RoundWriter& to, const Members& members);
void send_by_factors(RoundWriter& to, const Members& members);
void send_by_tree(RoundWriter& to, const Members& members);
void send_by_halves(RoundWriter& to, const Members& members, int64_t turn);

}  // namespace lockstep
