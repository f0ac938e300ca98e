// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/round_parts.h"

#include <algorithm>
#include <bit>

#include "builders/all_reduce/pieces.h"

namespace lockstep {
namespace {

// Stages of reduce-scatter, and then backwards of all-gather.
void send_by_stages(RoundWriter& to, const Members& members, const std::vector<int>& factors) {
  const auto stage = [&](std::size_t number, bool adds) {
    int span = 1;
    for (std::size_t i = 0; i < number; ++i) span *= factors[i];
    const int factor = factors[number];
    const double share = 1.0 / span / factor;
    for (int k = 0; k < static_cast<int>(members.size()); ++k) {
      const int first = k - k / span % factor * span;
      for (int m = 0; m < factor; ++m) to.send(members[first + m * span], members[k], share);
    }
    if (adds) to.add((factor - 1) * share);
    to.end();
  };
  for (std::size_t i = 0; i < factors.size(); ++i) stage(i, true);
  for (std::size_t i = factors.size(); i-- > 0;) stage(i, false);
}

// Rounds of a tree whose messages leave as soon as a value is there.
class TreeRounds {
 public:
  TreeRounds(RoundWriter& to, Members members)
      : to_(to), members_(std::move(members)), depth_(members_.size(), 0) {}

  // Member a computes a + b.
  void add(int a, int b) {
    send(b, a, true);
    depth_[a] = std::max(depth_[a], depth_[b] + 1);
  }
  void copy(int from, int into) {
    send(from, into, false);
    depth_[into] = depth_[from] + 1;
  }
  void end() {
    for (const auto& round : rounds_) {
      std::vector<double> added(members_.size(), 0);
      for (const auto& [from, into, adds] : round) {
        to_.send(members_[from], members_[into], 1);
        if (adds) to_.add(++added[into]);
      }
      to_.end();
    }
  }

 private:
  struct Sent {
    int from, into;
    bool adds;
  };
  void send(int from, int into, bool adds) {
    const std::size_t round = depth_[from];
    if (rounds_.size() <= round) rounds_.resize(round + 1);
    rounds_[round].push_back({from, into, adds});
  }

  RoundWriter& to_;
  Members members_;
  std::vector<int> depth_;
  std::vector<std::vector<Sent>> rounds_;
};

}  // namespace

void scatter_pieces(RoundWriter& to, const Members& members, bool narrow) {
  const auto count = static_cast<double>(members.size());
  for (const bool adds : {true, false}) {
    to.send_all(members, members, 1 / count);
    if (adds) to.add((count - 1) / count);
    to.end(1, narrow);
  }
}

void send_to_first(RoundWriter& to, const std::vector<Members>& groups, bool narrow) {
  for (const Members& group : groups)
    for (const int member : group) to.send(member, group[0], 1);
  to.add(static_cast<double>(groups[0].size()) - 1);
  to.end(1, narrow);
}
void send_from_first(RoundWriter& to, const std::vector<Members>& groups, bool narrow) {
  for (const Members& group : groups)
    for (const int member : group) to.send(group[0], member, 1);
  to.end(1, narrow);
}

void send_by_gatherers(RoundWriter& to, const Members& members, const Members& gatherers,
                       const std::vector<Members>& early) {
  const double share = 1 / static_cast<double>(gatherers.size());
  to.send_all(members, gatherers, share);
  to.add(static_cast<double>(members.size() - 1) * share);
  to.end();
  to.send_all(gatherers, members, share);
  for (const Members& group : early)
    for (const int member : group) to.send(group[0], member, 1);
  to.end();
}

Members taking_turns(const Members& all, int64_t shards, int64_t turn) {
  const auto groups = gather_groups(static_cast<int>(all.size()), shards);
  Members chosen;
  for (const int i : groups[turn % groups.size()]) chosen.push_back(all[i]);
  return chosen;
}

// All ticks of a ring are alike: each member sends one piece to its successor.
void send_by_rings(RoundWriter& to, const Members& members, int processes, int64_t rings,
                   const std::vector<int>& order) {
  const auto count = static_cast<double>(members.size());
  const double share = 1 / count / static_cast<double>(rings);
  for (const bool adds : {true, false}) {
    for (int64_t ring = 0; ring < rings; ++ring) {
      const RingPlaces places = ring_places(processes, rings, ring, order);
      for (std::size_t k = 0; k < members.size(); ++k)
        to.send(members[places.predecessor[k]], members[k], share);
    }
    if (adds) to.add(1 / count);
    to.end(count - 1);
  }
}

void send_by_halving(RoundWriter& to, const Members& members) {
  const auto count = static_cast<int>(members.size());
  const int inner = static_cast<int>(std::bit_floor(static_cast<unsigned>(count)));
  for (int k = inner; k < count; ++k) to.send(members[k], members[k - inner], 1);
  if (count > inner) to.add(1);
  to.end();
  send_by_stages(to, {members.begin(), members.begin() + inner},
                 std::vector<int>(std::bit_width(static_cast<unsigned>(inner)) - 1, 2));
  for (int k = inner; k < count; ++k) to.send(members[k - inner], members[k], 1);
  to.end();
}

void send_by_factors(RoundWriter& to, const Members& members) {
  std::vector<int> factors;
  int rest = static_cast<int>(members.size());
  for (; rest % 2 == 0; rest /= 2) factors.push_back(2);
  if (rest > 1) factors.push_back(rest);
  send_by_stages(to, members, factors);
}

void send_by_tree(RoundWriter& to, const Members& members) {
  const auto n = static_cast<int>(members.size());
  TreeRounds tree(to, members);
  if (n == 2 || n == 4 || n == 8) {
    for (int i = 0; i < n; i += 2) tree.add(i, i + 1);
    for (int i = 0; i + 2 < n; i += 4) tree.add(i, i + 2);
    if (n == 8) tree.add(0, 4);
    if (n == 8) tree.copy(0, 4);
    for (int i = 0; i + 2 < n; i += 4) tree.copy(i, i + 2);
    for (int i = 1; i < n; i += 2) tree.copy(i - 1, i);
  } else {
    for (int i = 1; i < n; ++i) tree.add(0, i);
    for (int i = 1; i < n; ++i) tree.copy(0, i);
  }
  tree.end();
}

void send_by_halves(RoundWriter& to, const Members& members, int64_t turn) {
  const auto n = static_cast<int64_t>(members.size()), half = n / 2;
  const int mains[2] = {members[turn % n], members[(turn + half) % n]};
  for (int64_t k = 0; k < n; ++k) to.send(members[k], mains[k < half ? 0 : 1], 1);
  to.add(static_cast<double>(n - half - 1));
  to.end();
  to.send(mains[1], mains[0], 1);
  to.add(1);
  to.end();
  for (int64_t k = 0; k < half; ++k)
    if (members[k] != mains[1]) to.send(mains[0], members[k], 1);
  to.send(mains[0], mains[1], 1);
  to.end();
  for (int64_t k = half; k < n; ++k)
    if (members[k] != mains[0]) to.send(mains[1], members[k], 1);
  to.end();
}

}  // namespace lockstep
