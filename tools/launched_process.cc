// SPDX-License-Identifier: Apache-2.0
#include "tools/launched_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>

#include "app/train/restart.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/threads/cores.h"

namespace lockstep {
namespace {

constexpr int kSignalled = 128;  // exit codes from here on: ended by a signal

[[noreturn]] void refuse(const char* call, const LaunchOptions& options) {
  fail("--processes ", options.processes, ": not all can be started: ", call, ": ",
       std::strerror(errno));
}

bool is_passed_on(int signal) {
  return std::find(std::begin(kPassedOn), std::end(kPassedOn), signal) != std::end(kPassedOn);
}

}  // namespace

void hold_signals(int how) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : kPassedOn) sigaddset(&signals, number);
  sigprocmask(how, &signals, nullptr);
}

LaunchedProcess::LaunchedProcess(int rank, const Meeting& meeting, const LaunchOptions& options)
    : rank_(rank) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) refuse("pipe", options);
  process_ = fork();
  if (process_ < 0) refuse("fork", options);
  if (process_ == 0) become(ends[1], meeting, options);
  close(ends[1]);
  output_ = ends[0];
}

LaunchedProcess::~LaunchedProcess() {
  if (output_ >= 0) close(output_);
}

void LaunchedProcess::pass_on() {
  char bytes[4096];
  const ssize_t count = read(output_, bytes, sizeof bytes);
  if (count < 0 && errno == EINTR) return;
  if (count > 0) line_.append(bytes, count);
  for (auto end = line_.find('\n'); end != line_.npos; end = line_.find('\n')) {
    std::cout << "[" << rank_ << "] " << line_.substr(0, end + 1) << std::flush;
    line_.erase(0, end + 1);
  }
  if (count > 0) return;
  if (!line_.empty()) std::cout << "[" << rank_ << "] " << line_ << std::endl;
  close(output_);
  output_ = -1;
}

void LaunchedProcess::look() {
  int status = 0;
  if (!running_ || waitpid(process_, &status, WNOHANG) != process_) return;
  running_ = false;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  lost_ =
      WIFSIGNALED(status) || (exit_code_ >= kSignalled && !is_passed_on(exit_code_ - kSignalled));
  if (WIFSIGNALED(status))
    std::cerr << "lockstep: rank " << rank_ << " (process " << process_ << ") was killed by signal "
              << WTERMSIG(status) << "\n";
}

void LaunchedProcess::stop(int signal) const {
  if (running_) kill(process_, signal);
}

void LaunchedProcess::become(int output, const Meeting& meeting, const LaunchOptions& options) {
  for (int number : kPassedOn) signal(number, SIG_DFL);
  hold_signals(SIG_UNBLOCK);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // no process outlives the launcher
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
  set("RANK", std::to_string(rank_));
  set("LOCAL_RANK", std::to_string(rank_));
  set("WORLD_SIZE", std::to_string(options.processes));
  set("LOCAL_WORLD_SIZE", std::to_string(options.processes));
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", std::to_string(meeting.port));
  set("LOCKSTEP_TIMEOUT", std::to_string(*options.timeout));
  set("LOCKSTEP_JOB", meeting.job);
  set("LOCKSTEP_TOKEN", meeting.token);
  set(kRunNote, meeting.run_note);
  set(kContinueRun, meeting.continue_run);
  for (const char* other : {"LOCKSTEP_STORE", "LOCKSTEP_PORT", kOwnCores}) unsetenv(other);
  if (!options.all_cores && keep_to_share_of_cores(rank_, options.processes)) set(kOwnCores, "1");
  std::vector<char*> words;
  for (const std::string& word : options.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  // "lockstep" runs this binary, in any folder.
  if (options.command[0] == "lockstep") execv("/proc/self/exe", words.data());
  execvp(words[0], words.data());
  std::cerr << "cannot run " << printable(words[0]) << ": " << std::strerror(errno) << std::endl;
  _exit(2);
}

}  // namespace lockstep
