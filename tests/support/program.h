// SPDX-License-Identifier: Apache-2.0
// Runs the lockstep binary as a user does.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace lockstep::testing {

struct Outcome {
  int exit_code = -1;  // 128 + signal if killed
  std::string out;
  std::string err;
};
struct ProgramOptions {
  long kill_after_ms = -1;    // SIGKILL
  long file_size_limit = -1;  // bytes; writing beyond fails as on a full disk
  long address_limit = -1;    // bytes; starting threads beyond fails, since their stacks count
  std::map<std::string, std::string> environment = {};  // in addition to this process's
  std::string output = "";     // a file in place of standard output, which then counts as empty
  bool output_closed = false;  // there is no standard output
};
Outcome run_lockstep(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

std::string run_path();  // the binary's path

// A process that runs during the test; killed at the end if still running.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const ProgramOptions& options = {});
  ~Program();
  Program(const Program&) = delete;

  pid_t id() const { return process_; }
  void send_signal(int signal) const;
  std::string out_so_far() const;
  // Waits until that text is printed; false if the program ended before.
  bool wait_for(const std::string& text);
  Outcome finish();

 private:
  TemporaryFolder folder_;
  pid_t process_ = -1;
};

// Exit code 2, and every one of `parts` on stderr.
void expect_refused(const Outcome& outcome, const std::vector<std::string>& parts);

}  // namespace lockstep::testing
