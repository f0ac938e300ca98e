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
  long file_size_limit = -1;  // bytes; longer writes fail as on a full disk
  long address_limit = -1;    // bytes; new threads fail beyond the limit, since their stacks count
  std::map<std::string, std::string> environment = {};  // in addition to this process's
  std::string output = "";     // a file for standard output; Outcome::out is then empty
  bool output_closed = false;  // the program starts without a standard output
};
Outcome run_lockstep(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

std::string run_path();  // the binary's path

// A process that runs during the test. The destructor kills it.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const ProgramOptions& options = {});
  ~Program();
  Program(const Program&) = delete;

  pid_t id() const { return process_; }
  void send_signal(int signal) const;
  std::string out_so_far() const;
  // Waits until the text is printed. Returns false if the program ends before.
  bool wait_for(const std::string& text);
  Outcome finish();

 private:
  TemporaryFolder folder_;
  pid_t process_ = -1;
};

// Expects exit code 2, and every one of `parts` on stderr.
void expect_refused(const Outcome& outcome, const std::vector<std::string>& parts);

}  // namespace lockstep::testing
