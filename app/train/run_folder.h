// SPDX-License-Identifier: Apache-2.0
// Run folders. The runs of one configuration are a run series: OUTPUT_DIR, OUTPUT_DIR.2,
// OUTPUT_DIR.3, ..; none is ever overwritten.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

// While it lives, no other run can use the folder. A run that ends before its first step leaves no
// folder, nor those above it that it made.
class RunLock {
 public:
  // Throws naming folder and process if another run holds it.
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;

  const std::string& folder() const { return folder_; }
  // The first step is done: from now on there is something to keep.
  void begun() const;

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
// The series' folders that hold files, or a run that is just beginning; the newest first.
std::vector<std::string> runs_of(const std::string& series);
// The series that a folder belongs to by its name: runs/c of runs/c.3.
std::string series_with(const std::string& folder);
// The folder that a run works in, without links and trailing slashes: runs/c of runs/latest/. The
// link moves as soon as another run of the series saves. Missing folders keep their names.
std::string real_folder(const std::string& named);
// Without trailing slashes, which would hide that the last part is a link.
std::filesystem::path without_slashes(const std::string& named);
// Where a link leads, whether something is there or not.
std::filesystem::path target_of(const std::filesystem::path& link);

// If a run holds the folder: ", process 123", or "" where its lock names no process.
std::optional<std::string> held_by(const std::string& folder);
// Whether a run has ever begun there.
bool had_run(const std::string& folder);

std::string checkpoint_in(const std::string& folder);
std::string step_in(const std::string& folder);

// Makes RUNS/latest point to the folder, if it lies in a folder called runs. For a run that others
// can use: one with a checkpoint.
void point_latest_to(const std::string& folder);

}  // namespace lockstep
