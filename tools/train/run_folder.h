// Run folders. The runs of one configuration are a run series: OUTPUT_DIR, OUTPUT_DIR.2,
// OUTPUT_DIR.3, ..; none is ever overwritten.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace lockstep {

// While it lives, no other run can use the folder. A run that ends before writing anything leaves
// no folder either, nor those above it that it made.
class RunLock {
 public:
  // Throws naming folder and process if another run holds it.
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;

  const std::string& folder() const { return folder_; }

 private:
  friend std::unique_ptr<RunLock> start_next_run(const std::string& series);
  RunLock(std::string folder, int file, std::filesystem::path above)
      : folder_(std::move(folder)), file_(file), above_(std::move(above)) {}

  std::string folder_;
  int file_;
  std::filesystem::path above_;  // the highest folder that it made above its own; "": none
};

// Makes the series' next folder. Simultaneous starts get different ones.
std::unique_ptr<RunLock> start_next_run(const std::string& series);
// The series' last folder with any content from a run; "" if there is none.
std::string newest_run(const std::string& series);

std::string checkpoint_in(const std::string& folder);
std::string step_in(const std::string& folder);

// Makes RUNS/latest point to the folder, if it lies in a folder called runs.
void point_latest_to(const std::string& folder);

}  // namespace lockstep
