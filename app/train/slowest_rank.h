// SPDX-License-Identifier: Apache-2.0
// The rank of a run that the others wait for, and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// Seconds of a number of steps of one rank.
struct RankTimes {
  double computing = 0;  // of the busiest replica, and everything else within a step
  double data = 0;       // waiting for data
  double waiting = 0;    // of the busiest replica, for other replicas and ranks
  int64_t steps = 0;
  // Devices with queues, such as GPUs: the host times a step as a whole, so `computing` includes
  // the waits for other replicas and ranks.
  bool on_queues = false;

  RankTimes& operator+=(const RankTimes& other);
  RankTimes since(const RankTimes& before) const;
};
// As a text for rank 0, and back.
std::string text_of(const RankTimes& times);
RankTimes rank_times_in(const std::string& text);

// Names the slowest rank with its times and the fastest rank's, and the reason: its computation (on
// devices with queues its steps, in host time), its data, or its waiting for messages. Returns ""
// if the ranks differ by at most a tenth. Ranks that exchange gradients in each step take the same
// time for a step, so ranks are compared by their own work: computation and data. Their times for a
// step differ only if ranks do not wait for each other.
struct Slowest {
  int rank = -1;
  std::string why;
  std::string text;
};
Slowest slowest_rank(const std::vector<RankTimes>& ranks);

// Watches the windows of a run. A window may be too short to be judged.
class SlowestRankWatch {
 public:
  // Returns a line for the user if another rank than before, or none before, is the slowest, or for
  // another reason; else "".
  std::string add(const std::vector<RankTimes>& window);

 private:
  bool begun_ = false;  // the first window plans and touches memory, and does not count
  std::vector<RankTimes> sums_;
  int said_rank_ = -1;
  std::string said_why_;
};

}  // namespace lockstep
