// SPDX-License-Identifier: Apache-2.0
// The threads that share a kernel's work with the calling thread. Work comes in numbered shares.
// Each thread begins with its own range of shares and then steals shares that others have not
// begun. So a preempted thread delays only the share that it is working on, and it need not even
// wake up for a run to end. The thread that runs a share does not change any bit.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "runtime/threads/float_mode.h"

namespace lockstep {

class Team {
 public:
  using Work = void (*)(void* data, int share, int shares);

  // Returns the team of the calling thread, which lives as long as the thread. It starts without
  // helpers.
  static Team& of_this_thread();

  Team();
  ~Team();
  Team(const Team&) = delete;

  struct WaitPolicy {
    bool short_waits = false;    // Helpers spin only briefly before sleeping. The owner keeps
                                 // spinning if it has its own core.
    std::span<const int> cores;  // cores to bind threads to, one each; empty: unbound
  };
  // Sets the behaviour of threads until end() or another begin(). The array behind `cores` must
  // live as long.
  void begin(const WaitPolicy& manner);
  void end();

  // Starts missing threads. Throws std::system_error, and then has no helpers.
  void grow(int threads);
  int threads() const { return 1 + static_cast<int>(others_.size()); }

  // Calls work(data, share, shares) for every share, on at most the first `threads` threads of the
  // team. Returns when all shares have ended. Work must not throw. Shares may wait for each other
  // if there are no more shares than threads.
  void run(int shares, int threads, Work work, void* data);

  // Waits, within a share, until all shares have arrived.
  static void barrier();

 private:
  struct Member;

  void serve(Member& member);
  void take_part(int me);
  bool take(int me, Member& from, int& share);
  void wake(Member& member);
  void end_others();
  static void wait_while(const std::atomic<int>& value, int seen, int turns);
  void place_others();

  std::vector<std::unique_ptr<Member>> all_;  // the first is the owner
  std::vector<std::thread> others_;
  std::atomic<int> size_{1};

  std::atomic<int> turns_;  // spins of helpers
  int owners_turns_;
  std::span<const int> cores_;
  std::vector<int> cores_of_others_;
  cpu_set_t anywhere_{};  // cores that threads may run on

  struct Round {
    Work work;
    void* data;
    int shares;
    FloatMode floats = FloatMode::of_this_thread();  // of the owner, so that no bit depends on the
                                                     // thread that runs a share
  };
  Round this_round_{};
  std::atomic<bool> ended_{false};
  uint32_t rounds_ = 0;
  std::atomic<int> arrived_{0}, barriers_{0};
  alignas(64) std::atomic<int> left_{0};  // shares of this round that have not ended
};

// The position of the calling thread: inside a share of a team's work, or outside.
struct PlaceInTeam {
  Team* team = nullptr;
  int share = 0, shares = 1;
  int member = 0;  // the thread's number in the team

  bool inside() const { return team != nullptr; }
};
PlaceInTeam& place_in_team();

}  // namespace lockstep
