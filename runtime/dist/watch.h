// SPDX-License-Identifier: Apache-2.0
// Watch: the health of the other processes of a run. The watch sends heartbeats of this process
// with the message it waits for, notices when another process ends, and finds the culprit when a
// wait times out. The first process that finds the reason writes it into the store; all processes
// end with this reason.
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
  // A wait that another thread can interrupt.
  class Interruptible {
   public:
    virtual ~Interruptible() = default;
    virtual void interrupt() = 0;
  };

  // `store` must outlive the watch. A wait longer than `patience` fails the run.
  Watch(Store& store, int rank, std::vector<Member> members, Milliseconds patience);
  ~Watch();
  Watch(const Watch&) = delete;

  void at_step(uint64_t step) { step_ = step; }

  // Used as a peer: the wait is for all processes.
  static constexpr int kEverybody = -2;

  // While it lives, the calling thread waits for a message or for all processes.
  class Waiting {
   public:
    // Throws if the run has already failed.
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

  // Ends a wait that was interrupted, or that lost its connection to `peer`. Waits a moment for the
  // run's failure. If no process has announced a failure, announces `seen` (by default, that the
  // connection broke). Throws the failure.
  [[noreturn]] void stop(const std::string& what, int peer, const std::string& seen = "");
  // Announces that this process ends, with the reason.
  void give_up(const std::string& why);

 private:
  struct Failure {
    std::string text;
    bool is_error = false;  // true: a process ended by its own error; false: a process was lost
  };
  static std::string stored(const Failure& failure);
  static Failure failure_stored(const std::string& text);

  static constexpr int kNobody = -1;
  static constexpr int kLeft = -3;  // used in the last heartbeat of a process that ends
  struct Sign {                     // a heartbeat, as stored
    uint64_t beat = 0;
    uint64_t step = 0;
    int waits_for = kNobody;
    std::string what;
  };

  void look();
  void show_life();
  std::optional<Sign> sign_of(int rank);
  // Returns the wait to report: a wait for a message before a wait for all processes.
  const Waiting* foremost() const;
  std::string find_culprit(int peer);
  std::string find_absentee(const std::vector<std::optional<Sign>>& signs);
  std::string text_of_absence(int rank, const Sign& sign) const;
  void learn(const Failure& failure);
  void blame(const Failure& failure);
  std::string text(int rank) const { return text_of(members_[rank]); }

  Store& store_;
  const int rank_;
  const std::vector<Member> members_;
  const Milliseconds patience_;
  std::atomic<uint64_t> step_{0};
  uint64_t beat_ = 0;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::optional<Failure> failure_;
  std::vector<const Waiting*> waits_;
  bool over_ = false;

  std::thread thread_;
};

}  // namespace lockstep
