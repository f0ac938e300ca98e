// SPDX-License-Identifier: Apache-2.0
// lockstep launch: several processes of one command on this machine.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "app/train/restart.h"
#include "app/train/run_folder.h"
#include "graph/printable.h"
#include "lockstep/error.h"
#include "runtime/dist/rendezvous.h"
#include "runtime/dist/store_token.h"
#include "tools/command.h"
#include "tools/launched_process.h"

namespace lockstep {
namespace {

using Clock = std::chrono::steady_clock;

// The file without a name in which a training run tells its folder.
class RunNote {
 public:
  RunNote() : file_(memfd_create("lockstep run", MFD_CLOEXEC)) {}
  ~RunNote() {
    if (file_ >= 0) close(file_);
  }
  RunNote(const RunNote&) = delete;

  std::string path() const { return file_ < 0 ? "" : join("/proc/", getpid(), "/fd/", file_); }
  // The folder of the last run, or "".
  std::string folder() const {
    char bytes[4096];
    const ssize_t count = file_ < 0 ? 0 : pread(file_, bytes, sizeof bytes, 0);
    return {bytes, static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

 private:
  int file_;
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

std::atomic<int> told{0};  // the last signal that is not forwarded yet

void listen() {
  struct sigaction action {};
  action.sa_handler = [](int number) { told = number; };
  for (int number : kPassedOn) sigaction(number, &action, nullptr);
}

constexpr int kMostProcesses = 4096;  // of one machine

constexpr int kMostRestarts = 1'000'000;

struct End {
  int code = 0;       // of the first process to fail
  bool lost = false;  // a process was lost; errors that processes report come again
  bool told = false;  // the user ended the job
};

// Starts the processes and waits for their end.
End run_once(const LaunchOptions& options, const Meeting& meeting) {
  End end;
  hold_signals(SIG_BLOCK);  // until there are processes to forward them to
  std::vector<std::unique_ptr<LaunchedProcess>> children;
  for (int rank = 0; rank < options.processes; ++rank)
    children.push_back(std::make_unique<LaunchedProcess>(rank, meeting, options));
  listen();
  hold_signals(SIG_UNBLOCK);
  // The other processes notice a failed process and report it. Processes that do not end are
  // killed.
  auto deadline = Clock::time_point::max();
  for (bool any = true; any;) {
    std::vector<pollfd> outputs;
    for (const auto& child : children)
      if (child->output() >= 0) outputs.push_back({child->output(), POLLIN, 0});
    if (poll(outputs.data(), outputs.size(), 50) < 0 && errno != EINTR)
      fail("poll: ", std::strerror(errno));
    if (const int number = told.exchange(0); number != 0) {
      end.told = true;
      for (const auto& child : children) child->stop(number);
    }
    any = false;
    for (const auto& child : children) {
      for (const pollfd& output : outputs)
        if (output.fd == child->output() && output.revents != 0) child->pass_on();
      child->look();
      any = any || child->running() || child->output() >= 0;
      end.lost = end.lost || child->was_lost();
      if (child->running() || child->exit_code() == 0 || end.code != 0) continue;
      end.code = child->exit_code();
      deadline = Clock::now() + std::chrono::seconds(*options.timeout + 20);
    }
    if (Clock::now() < deadline) continue;
    for (const auto& child : children) child->stop(SIGKILL);
    deadline = Clock::time_point::max();
  }
  return end;
}

// The folder of the run if it has a checkpoint to continue from, or "".
std::string run_to_continue(const RunNote& note) {
  const std::string folder = note.folder();
  std::error_code trouble;
  return !folder.empty() && std::filesystem::exists(checkpoint_in(folder), trouble) ? folder : "";
}

int launch(LaunchOptions options) {
  check(!options.command.empty(), "there is no command to launch; put it after --");
  check(options.processes >= 1 && options.processes <= kMostProcesses, "-n ", options.processes,
        ": should be from 1 to ", kMostProcesses);
  if (!options.timeout)
    options.timeout = static_cast<int>(
        std::chrono::duration_cast<std::chrono::seconds>(patience_of_environment()).count());
  const RunNote note;
  std::string folder;
  for (int restart = 0;; ++restart) {
    const End end =
        run_once(options, {free_port(), name_of_job(), new_token(), note.path(), folder});
    if (end.code == 0 || !end.lost || end.told || restart == options.restarts) return end.code;
    folder = run_to_continue(note);
    std::cerr << "lockstep: restart " << restart + 1 << " of " << options.restarts
              << ": all processes start again"
              << (folder.empty() ? ", with the command as it is: there is no checkpoint yet"
                                 : ", from " + printable(checkpoint_in(folder)))
              << std::endl;
  }
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
  command
      ->add_option("--restarts", options->restarts,
                   "if a process is lost, start all processes again, up to this number of times; "
                   "`lockstep train` then continues from the run's newest checkpoint")
      ->check(CLI::Range(0, kMostRestarts))
      ->capture_default_str();
  command->add_flag("--all-cores", options->all_cores,
                    "let each process run on all cores; otherwise, if the cores divide equally, "
                    "each process keeps to cores of its own");
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
