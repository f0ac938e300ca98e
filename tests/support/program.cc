// SPDX-License-Identifier: Apache-2.0
#include "tests/support/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "graph/file.h"

namespace lockstep::testing {

// In a bundle the program is next to the tests. In a build it is in its build folder.
std::string run_path() {
  const std::filesystem::path beside =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("lockstep");
  return std::filesystem::is_regular_file(beside) ? beside.string() : LOCKSTEP_BINARY;
}

Program::Program(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  const std::string out = folder_ / "out", err = folder_ / "err";
  std::string program = run_path();
  std::vector<char*> argv{program.data()};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  write_file(out, "");
  process_ = fork();
  if (process_ != 0) return;
  dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
  if (options.output_closed)
    close(STDOUT_FILENO);
  else
    dup2(open((options.output.empty() ? out : options.output).c_str(), O_WRONLY | O_CREAT, 0600),
         STDOUT_FILENO);
  for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
  if (options.file_size_limit >= 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{static_cast<rlim_t>(options.file_size_limit),
                 static_cast<rlim_t>(options.file_size_limit)};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (options.address_limit >= 0) {
    rlimit limit{static_cast<rlim_t>(options.address_limit),
                 static_cast<rlim_t>(options.address_limit)};
    setrlimit(RLIMIT_AS, &limit);
  }
  execv(argv[0], argv.data());
  _exit(127);
}

Program::~Program() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

void Program::send_signal(int signal) const { kill(process_, signal); }

std::string Program::out_so_far() const { return read_file(folder_ / "out"); }

bool Program::wait_for(const std::string& text) {
  while (out_so_far().find(text) == std::string::npos) {
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid == process_) return out_so_far().find(text) != std::string::npos;
    usleep(5000);
  }
  return true;
}

Outcome Program::finish() {
  int status = 0;
  waitpid(std::exchange(process_, -1), &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out_so_far(),
          read_file(folder_ / "err")};
}

Outcome run_lockstep(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  Program program(arguments, options);
  if (options.kill_after_ms >= 0) {
    usleep(static_cast<useconds_t>(options.kill_after_ms * 1000));
    program.send_signal(SIGKILL);
  }
  return program.finish();
}

void expect_refused(const Outcome& outcome, const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  for (const std::string& part : parts)
    EXPECT_NE(outcome.err.find(part), std::string::npos)
        << "missing '" << part << "' in: " << outcome.err;
}

}  // namespace lockstep::testing
