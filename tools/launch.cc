// SPDX-License-Identifier: Apache-2.0
// lockstep launch: several processes of one command on this machine.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <optional>

#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/dist/rendezvous.h"
#include "runtime/dist/store_token.h"
#include "tools/command.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

struct LaunchOptions {
  int processes = 2;
  std::optional<int> timeout;  // seconds; none: LOCKSTEP_TIMEOUT, or the default
  std::vector<std::string> command;
};

// The processes' meeting place and names.
struct Meeting {
  int port;
  std::string job;
  std::string token;
};

// A name that is unique on this host, in all containers.
std::string name_of_job() {
  return join("launch-", getpid(), "-", Clock::now().time_since_epoch().count());
}

// A port that was free a moment ago. It is for other programs; Lockstep's own ranks meet without a
// port.
int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool found = bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(probe);
  check(found, "no free port: ", std::strerror(errno));
  return ntohs(address.sin_port);
}

// Signals forwarded to the processes, which decide how they end.
constexpr int kPassedOn[] = {SIGINT, SIGTERM};
std::atomic<int> told{0};

void listen() {
  struct sigaction action {};
  action.sa_handler = [](int number) { told = number; };
  for (int number : kPassedOn) sigaction(number, &action, nullptr);
}

void hold_signals(int how) {
  sigset_t signals;
  sigemptyset(&signals);
  for (int number : kPassedOn) sigaddset(&signals, number);
  sigprocmask(how, &signals, nullptr);
}

[[noreturn]] void refuse(const char* call, const LaunchOptions& options) {
  fail("--processes ", options.processes, ": not all can be started: ", call, ": ",
       std::strerror(errno));
}

class Child {
 public:
  Child(int rank, const Meeting& meeting, const LaunchOptions& options) : rank_(rank) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) refuse("pipe", options);
    process_ = fork();
    if (process_ < 0) refuse("fork", options);
    if (process_ == 0) become(ends[1], meeting, options);
    close(ends[1]);
    output_ = ends[0];
  }
  ~Child() {
    if (output_ >= 0) close(output_);
  }
  Child(const Child&) = delete;

  int output() const { return output_; }  // -1 after its end
  bool running() const { return running_; }
  int exit_code() const { return exit_code_; }

  // Forwards whole lines, each prefixed with the rank.
  void pass_on() {
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

  void look() {
    int status = 0;
    if (!running_ || waitpid(process_, &status, WNOHANG) != process_) return;
    running_ = false;
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (WIFSIGNALED(status))
      std::cerr << "lockstep: rank " << rank_ << " (process " << process_
                << ") was killed by signal " << WTERMSIG(status) << "\n";
  }

  void stop(int signal) const {
    if (running_) kill(process_, signal);
  }

 private:
  [[noreturn]] void become(int output, const Meeting& meeting, const LaunchOptions& options) {
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
    for (const char* other : {"LOCKSTEP_STORE", "LOCKSTEP_PORT"}) unsetenv(other);
    std::vector<char*> words;
    for (const std::string& word : options.command)
      words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    // "lockstep" runs this binary, in any folder.
    if (options.command[0] == "lockstep") execv("/proc/self/exe", words.data());
    execvp(words[0], words.data());
    std::cerr << "cannot run " << printable(words[0]) << ": " << std::strerror(errno) << std::endl;
    _exit(2);
  }

  int rank_;
  pid_t process_ = -1;
  int output_ = -1;
  bool running_ = true;
  int exit_code_ = 0;
  std::string line_;
};

constexpr int kMostProcesses = 4096;  // of one machine

int launch(LaunchOptions options) {
  check(!options.command.empty(), "there is no command to launch; put it after --");
  check(options.processes >= 1 && options.processes <= kMostProcesses, "-n ", options.processes,
        ": should be from 1 to ", kMostProcesses);
  if (!options.timeout)
    options.timeout = static_cast<int>(
        std::chrono::duration_cast<std::chrono::seconds>(patience_of_environment()).count());
  const Meeting meeting{free_port(), name_of_job(), new_token()};
  hold_signals(SIG_BLOCK);  // until there are processes to forward them to
  std::vector<std::unique_ptr<Child>> children;
  for (int rank = 0; rank < options.processes; ++rank)
    children.push_back(std::make_unique<Child>(rank, meeting, options));
  listen();
  hold_signals(SIG_UNBLOCK);
  int code = 0;
  // The other processes notice a failed process and report it. Processes that do not end are
  // killed.
  auto deadline = Clock::time_point::max();
  for (bool any = true; any;) {
    std::vector<pollfd> outputs;
    for (const auto& child : children)
      if (child->output() >= 0) outputs.push_back({child->output(), POLLIN, 0});
    if (poll(outputs.data(), outputs.size(), 50) < 0 && errno != EINTR)
      fail("poll: ", std::strerror(errno));
    if (const int number = told.exchange(0); number != 0)
      for (const auto& child : children) child->stop(number);
    any = false;
    for (const auto& child : children) {
      for (const pollfd& output : outputs)
        if (output.fd == child->output() && output.revents != 0) child->pass_on();
      child->look();
      any = any || child->running() || child->output() >= 0;
      if (child->running() || child->exit_code() == 0 || code != 0) continue;
      code = child->exit_code();
      deadline = Clock::now() + std::chrono::seconds(*options.timeout + 20);
    }
    if (Clock::now() < deadline) continue;
    for (const auto& child : children) child->stop(SIGKILL);
    deadline = Clock::time_point::max();
  }
  return code;
}

}  // namespace

void add_launch(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<LaunchOptions>();
  CLI::App* command =
      app.add_subcommand("launch", "run a command as several processes on this machine");
  command->add_option("-n,--processes", options->processes, "number of processes")
      ->capture_default_str();
  command
      ->add_option(
          "--timeout", options->timeout,
          "seconds that a process waits for another process before it ends with an error about the "
          "other process; default: LOCKSTEP_TIMEOUT, or 60")
      ->check(CLI::Range(1, kMostPatience));
  // After the program every word is literal: an option with many values would split "[0, 2]".
  auto program = std::make_shared<std::string>();
  command->add_option("command", *program, "the command, after --")->required();
  command->prefix_command();
  command->footer(
      "Example:  lockstep launch -n 4 -- lockstep train configs/lenet_digits.yaml\n"
      "Sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun does; on one host\n"
      "Lockstep needs no port. For several hosts use torchrun, mpirun or srun, or set these\n"
      "variables by hand, with the same LOCKSTEP_TOKEN everywhere. The exit code is the code of\n"
      "the first process to fail. Ctrl-C and SIGTERM are forwarded.");
  command->callback([options, program, command, &chosen] {
    std::vector<std::string> words = command->remaining();
    if (!words.empty() && words[0] == "--")
      words.erase(words.begin());  // the -- before the command
    words.insert(words.begin(), *program);
    options->command = words;
    chosen = [options] { return launch(*options); };
  });
}

}  // namespace lockstep
