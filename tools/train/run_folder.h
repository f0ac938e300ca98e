// Where runs lie. The runs of one configuration are a series: OUTPUT_DIR, OUTPUT_DIR.2,
// OUTPUT_DIR.3, ..; none is ever overwritten.
#pragma once

#include <memory>
#include <string>

namespace lockstep {

// While it lives, no other run works in the folder. A run that ends before it left anything leaves
// no folder either.
class RunLock {
 public:
  // Throws naming folder and process when another run has it.
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;

  const std::string& folder() const { return folder_; }

 private:
  friend std::unique_ptr<RunLock> start_next_run(const std::string& series);
  RunLock(std::string folder, int file) : folder_(std::move(folder)), file_(file) {}

  std::string folder_;
  int file_;
};

// The series' next folder, made. Of two starts at the same time each gets its own.
std::unique_ptr<RunLock> start_next_run(const std::string& series);
// The series' last folder that a run left something in; "" when there is none.
std::string newest_run(const std::string& series);

std::string checkpoint_in(const std::string& folder);
std::string step_in(const std::string& folder);

// RUNS/latest points to the folder, for folders in a folder called runs.
void point_latest_to(const std::string& folder);

}  // namespace lockstep
