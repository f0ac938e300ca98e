// Where runs lie. The runs of one configuration are a series: OUTPUT_DIR, OUTPUT_DIR.2,
// OUTPUT_DIR.3, ..; none is ever overwritten.
#pragma once

#include <string>

namespace lockstep {

// The series' next folder, made. Of two starts at the same time each gets its own.
std::string make_next_run(const std::string& series);
// The series' last folder; "" when there is none.
std::string newest_run(const std::string& series);

std::string checkpoint_in(const std::string& folder);
std::string step_in(const std::string& folder);

// RUNS/latest points to the folder, for folders in a folder called runs.
void point_latest_to(const std::string& folder);

// While it lives, no other run works in the folder. Throws naming folder and process when one does.
// A run that ends before it left anything leaves no folder either.
class RunLock {
 public:
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;

 private:
  std::string folder_;
  int file_;
};

}  // namespace lockstep
