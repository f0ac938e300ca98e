// Runs the lockstep binary as a user does.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace lockstep::testing {

struct Outcome {
  int exit_code = -1;  // 128 + signal when killed
  std::string out;
  std::string err;
};
struct ProgramOptions {
  long kill_after_ms = -1;    // SIGKILL
  long file_size_limit = -1;  // bytes; writing beyond fails as a full disk does
  long address_limit = -1;    // bytes; starting threads beyond fails, their stacks count
  std::map<std::string, std::string> environment = {};  // beside this process's
};
Outcome run_lockstep(const std::vector<std::string>& arguments, const ProgramOptions& options = {});

std::string run_path();  // of the binary

// One that runs while the test goes on; killed if it still does at the end.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const ProgramOptions& options = {});
  ~Program();
  Program(const Program&) = delete;

  void send_signal(int signal) const;
  std::string out_so_far() const;
  // Waits until that text was printed; false when the program ended before.
  bool wait_for(const std::string& text);
  Outcome finish();

 private:
  TemporaryFolder folder_;
  pid_t process_ = -1;
};

// Exit code 2, and every one of `parts` on stderr.
void expect_refused(const Outcome& outcome, const std::vector<std::string>& parts);

}  // namespace lockstep::testing
