#include "tests/support/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/file.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {

Outcome run_lockstep(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  TemporaryFolder folder;
  const std::string out = folder / "out", err = folder / "err";
  std::vector<char*> argv{const_cast<char*>(LOCKSTEP_BINARY)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    if (options.file_size_limit >= 0) {
      signal(SIGXFSZ, SIG_IGN);
      rlimit limit{static_cast<rlim_t>(options.file_size_limit),
                   static_cast<rlim_t>(options.file_size_limit)};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    execv(argv[0], argv.data());
    _exit(127);
  }
  if (options.kill_after_ms >= 0) {
    usleep(static_cast<useconds_t>(options.kill_after_ms * 1000));
    kill(child, SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out),
          read_file(err)};
}

void expect_refused(const Outcome& outcome, const std::vector<std::string>& parts) {
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  for (const std::string& part : parts)
    EXPECT_NE(outcome.err.find(part), std::string::npos)
        << "no '" << part << "' in: " << outcome.err;
}

}  // namespace lockstep::testing
