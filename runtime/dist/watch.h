// Watch: how the other processes of a run are doing. It tells them that this one lives and what it
// waits for, learns when one of them ends, and finds out who is to blame when a wait takes too
// long. The first process that knows writes the reason into the store; all end with it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/dist/store.h"

namespace lockstep {

struct Member {
  int rank = 0;
  std::string host;
  int process = 0;
};
std::string text_of(const Member& member);  // rank 3 (host a, process 812)

class Watch {
 public:
  // Whatever a thread waits in, so that another can wake it.
  class Interruptible {
   public:
    virtual ~Interruptible() = default;
    virtual void interrupt() = 0;
  };

  // `store` must outlive the watch. A wait longer than `patience` is a failure of the run.
  Watch(Store& store, int rank, std::vector<Member> members, Milliseconds patience);
  ~Watch();
  Watch(const Watch&) = delete;

  void at_step(uint64_t step) { step_ = step; }

  // In the place of a peer: something that all processes take part in.
  static constexpr int kEverybody = -2;

  // While it lives, the calling thread waits, for a message or for everybody.
  class Waiting {
   public:
    // Throws when the run has failed already.
    Waiting(Watch& watch, const std::string& what, int peer, Interruptible& wait);
    ~Waiting();
    Waiting(const Waiting&) = delete;

   private:
    friend class Watch;
    Watch& watch_;
    const std::string& what_;
    const int peer_;
    const std::chrono::steady_clock::time_point since_;
    Interruptible& wait_;
  };

  // The wait was interrupted, or the connection to `peer` broke: throws what the run failed of,
  // which is `seen` if no process knows more.
  [[noreturn]] void stop(const std::string& what, int peer, const std::string& seen = "");
  // This process ends for that reason.
  void give_up(const std::string& why);

 private:
  static constexpr int kNobody = -1;
  static constexpr int kLeft = -3;  // in the last sign of a process that comes to its end
  struct Sign {                     // of life, as the store holds it
    uint64_t beat = 0;
    uint64_t step = 0;
    int waits_for = kNobody;
    std::string what;
  };

  void look();
  void show_life();
  std::optional<Sign> sign_of(int rank);
  // What is told first: a message that is waited for says more than what everybody waits for.
  const Waiting* foremost() const;
  std::string find_culprit(int peer);
  std::string find_absentee(const std::vector<std::optional<Sign>>& signs);
  std::string text_of_absence(int rank, const Sign& sign) const;
  void learn(const std::string& failure);
  void blame(const std::string& failure);
  std::string text(int rank) const { return text_of(members_[static_cast<std::size_t>(rank)]); }

  Store& store_;
  const int rank_;
  const std::vector<Member> members_;
  const Milliseconds patience_;
  std::atomic<uint64_t> step_{0};
  uint64_t beat_ = 0;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::string failure_;
  std::vector<const Waiting*> waits_;
  bool over_ = false;

  std::thread thread_;
};

}  // namespace lockstep
