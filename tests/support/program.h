// Runs the lockstep binary as a user does.
#pragma once

#include <string>
#include <vector>

namespace lockstep::testing {

struct Outcome {
  int exit_code = -1;  // 128 + signal when killed
  std::string out;
  std::string err;
};
struct ProgramOptions {
  long kill_after_ms = -1;    // SIGKILL
  long file_size_limit = -1;  // bytes; writing beyond fails as a full disk does
};
Outcome run_lockstep(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

// Exit code 2, and every one of `parts` on stderr.
void expect_refused(const Outcome& outcome, const std::vector<std::string>& parts);

}  // namespace lockstep::testing
