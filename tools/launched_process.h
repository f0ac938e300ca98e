// SPDX-License-Identifier: Apache-2.0
// One of the processes of `lockstep launch`.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct LaunchOptions {
  int processes = 2;
  std::optional<int> timeout;  // seconds; none: LOCKSTEP_TIMEOUT, or the default
  int restarts = 0;
  bool all_cores = false;  // for each process
  std::vector<std::string> command;
};

// The processes' meeting place and names.
struct Meeting {
  int port;
  std::string job;
  std::string token;
  std::string run_note;      // kRunNote
  std::string continue_run;  // kContinueRun; "": the command decides
};

// Signals forwarded to the processes, which decide how they end.
inline constexpr int kPassedOn[] = {SIGINT, SIGTERM};
// Blocks or unblocks the signals: SIG_BLOCK or SIG_UNBLOCK.
void hold_signals(int how);

class LaunchedProcess {
 public:
  // Starts the options' command as rank `rank`.
  LaunchedProcess(int rank, const Meeting& meeting, const LaunchOptions& options);
  ~LaunchedProcess();
  LaunchedProcess(const LaunchedProcess&) = delete;

  int output() const { return output_; }  // -1 after its end
  bool running() const { return running_; }
  int exit_code() const { return exit_code_; }
  // True if the process ended in disorder: by a signal, or because a process that it waited for
  // did. A process that saves on SIGINT or SIGTERM ends in order.
  bool was_lost() const { return lost_; }

  // Forwards whole lines, each prefixed with the rank.
  void pass_on();
  // Learns whether the process has ended.
  void look();
  void stop(int signal) const;

 private:
  [[noreturn]] void become(int output, const Meeting& meeting, const LaunchOptions& options);

  int rank_;
  pid_t process_ = -1;
  int output_ = -1;
  bool running_ = true, lost_ = false;
  int exit_code_ = 0;
  std::string line_;
};

}  // namespace lockstep
