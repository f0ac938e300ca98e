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

// Locks a folder for a run: no other run can use the folder meanwhile. A run that ends before its
// first step removes its folder, and the folders that it made above.
class RunLock {
 public:
  // Throws naming folder and process if another run holds the lock.
  explicit RunLock(const std::string& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;

  const std::string& folder() const { return folder_; }
  // Called after the first step: from now on there is a result to keep.
  void begun() const;

 private:
  friend std::unique_ptr<RunLock> start_next_run(const std::string& series);
  RunLock(std::string folder, int file, std::filesystem::path above)
      : folder_(std::move(folder)), file_(file), above_(std::move(above)) {}

  std::string folder_;
  int file_;
  std::filesystem::path above_;  // the highest folder that the run made above its own; "" if none
};

// Makes the series' next folder. Simultaneous starts get different folders.
std::unique_ptr<RunLock> start_next_run(const std::string& series);
// The series' folders with files, or with a run that is just beginning; newest first.
std::vector<std::string> runs_of(const std::string& series);
// The series of a folder by its name: runs/c for runs/c.3.
std::string series_with(const std::string& folder);
// The folder that a run works in, without links and trailing slashes: runs/c for runs/latest/. The
// link moves when another run of the series saves. Missing folders keep their names.
std::string real_folder(const std::string& named);
// Removes trailing slashes, which would hide that the last part is a link.
std::filesystem::path without_slashes(const std::string& named);
// The target of a link, which may be missing.
std::filesystem::path target_of(const std::filesystem::path& link);

// If a run holds the folder: ", process 123", or "" if its lock names no process.
std::optional<std::string> held_by(const std::string& folder);
// True if a run has ever begun there.
bool had_run(const std::string& folder);

std::string checkpoint_in(const std::string& folder);
std::string step_in(const std::string& folder);

// Makes RUNS/latest point to the folder, if the folder above is called runs. Called for a run with
// a checkpoint, which others can use.
void point_latest_to(const std::string& folder);

}  // namespace lockstep
