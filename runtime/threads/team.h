// SPDX-License-Identifier: Apache-2.0
// The threads that share a kernel's work with the thread that runs it. Work comes in numbered
// shares. Each thread begins with its own, a run of neighbours, and then takes what others have not
// begun. So a thread that another program keeps from its core holds up the share that it has in
// hand, and nothing else; it need not even wake up for a run to end. Which thread does a share
// changes no bit.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace lockstep {

class Team {
 public:
  using Work = void (*)(void* data, int share, int shares);

  // The team of the calling thread, which lives as long as the thread. At first it has no others.
  static Team& of_this_thread();

  Team();
  ~Team();
  Team(const Team&) = delete;

  struct Manner {
    bool short_waits = false;    // before threads sleep, but those of an owner with a core
    std::span<const int> cores;  // that threads keep to, one each; empty: wherever they may run
  };
  // How threads behave until end() or another begin(). What `cores` sees must live as long.
  void begin(const Manner& manner);
  void end();

  // Starts what is missing. Throws std::system_error, and then has no others.
  void grow(int threads);
  int threads() const { return 1 + static_cast<int>(others_.size()); }

  // Calls work(data, share, shares) for every share, on the first `threads` threads of the team at
  // most, and returns when all have ended. Work must not throw. Shares may wait for each other if
  // there are no more of them than threads.
  void run(int shares, int threads, Work work, void* data);

  // Within a share: waits until all shares are here.
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

  std::vector<std::unique_ptr<Member>> all_;  // the owner's first
  std::vector<std::thread> others_;
  std::atomic<int> size_{1};

  std::atomic<int> turns_;  // of waits of the others
  int owners_turns_;
  std::span<const int> cores_;
  std::vector<int> cores_of_others_;
  cpu_set_t anywhere_{};  // where threads may run

  struct Round {
    Work work;
    void* data;
    int shares;
  };
  Round this_round_{};
  std::atomic<bool> ended_{false};
  uint32_t rounds_ = 0;
  std::atomic<int> arrived_{0}, barriers_{0};
  alignas(64) std::atomic<int> left_{0};  // shares of this round that have not ended
};

// Where the calling thread is: within a share of a team's work, or not.
struct PlaceInTeam {
  Team* team = nullptr;
  int share = 0, shares = 1;
  int member = 0;  // the thread's number in the team

  bool inside() const { return team != nullptr; }
};
PlaceInTeam& place_in_team();

}  // namespace lockstep
