// SPDX-License-Identifier: Apache-2.0
#include "app/train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "graph/file.h"
#include "graph/refusal.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = ".lock";
constexpr const char* kBegun = "begun";  // the lock's second line, once a step is done

fs::path numbered(const fs::path& series, int number) {
  return number == 1 ? series : fs::path(join(series.string(), ".", number));
}

// The number of a folder of the series, or 0.
int number_of(const fs::path& folder, const fs::path& series) {
  const std::string name = folder.filename().string(), first = series.filename().string();
  if (name == first) return 1;
  if (!name.starts_with(first + ".")) return 0;
  const std::string digits = name.substr(first.size() + 1);
  if (digits.empty() || digits.size() > 6 || digits[0] == '0' ||
      digits.find_first_not_of("0123456789") != digits.npos)
    return 0;
  const int number = std::stoi(digits);
  return number > 1 ? number : 0;
}

int last_number(const fs::path& series) {
  const fs::path parent = series.has_parent_path() ? series.parent_path() : fs::path(".");
  int last = 0;
  if (!fs::is_directory(parent)) return last;
  for (const auto& entry : fs::directory_iterator(parent))
    if (std::error_code trouble; entry.is_directory(trouble))
      last = std::max(last, number_of(entry.path(), series));
  return last;
}

bool holds_nothing(const fs::path& folder) {
  std::error_code trouble;
  const auto files = fs::directory_iterator(folder, trouble);
  if (trouble == std::errc::no_such_file_or_directory)
    return true;  // a start that failed meanwhile
  if (trouble) throw fs::filesystem_error("cannot list a folder", folder, trouble);
  return std::all_of(begin(files), end(files), [](const fs::directory_entry& entry) {
    return entry.path().filename() == kLock;
  });
}

// True for a file that a start writes before there is a result to keep, finished or not.
bool is_of_a_start(const fs::directory_entry& entry) {
  fs::path name = entry.path().filename();
  const bool unfinished = name.extension() == ".tmp";
  if (unfinished) name = name.stem();
  if (name == "metrics.jsonl") return unfinished || entry.file_size() == 0;
  if (name == "checkpoint.safetensors") return unfinished;
  return name == kLock || name == "step.onnx" || name == "step.onnx.data" ||
         name == "config.yaml" || name == "report.html" ||
         name.string().starts_with("events.out.tfevents.");
}

// The process that has or had the lock, and "begun" if its run took a step.
struct LockText {
  std::string owner, begun;
};
LockText lock_text_in(const fs::path& folder) {
  std::ifstream file(folder / kLock);
  LockText text;
  std::getline(file, text.owner);
  std::getline(file, text.begun);
  return text;
}

// True if only files of a failed or killed start are left. Without a lock the files are somebody
// else's.
bool holds_no_result(const fs::path& folder) {
  if (holds_nothing(folder)) return true;
  const auto files = fs::directory_iterator(folder);
  return fs::exists(folder / kLock) && lock_text_in(folder).begun != kBegun &&
         std::all_of(begin(files), end(files), is_of_a_start);
}

void remove_files_of_start(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename() != kLock) fs::remove(entry.path());
}

// True if the file still has its name: a run that ends removes its folder.
bool is_still(int file, const fs::path& path) {
  struct stat opened = {}, named = {};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// The text is for other processes' errors and for the next start; the lock works without it.
void write_lock(int file, const std::string& text) {
  if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) < 0) {
  }
}

// Returns 0, or the reason why the file cannot be locked. Retries, because held_by() in another
// process takes the lock for a moment.
int try_lock(int file) {
  constexpr int kTries = 4;
  for (int i = 0; flock(file, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK || i == kTries) return errno;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return 0;
}

// Opens and locks the folder's lock file, and writes this process's number. Negative if another
// process holds the lock or has just removed the file.
int take_lock(const fs::path& folder) {
  const int file = open((folder / kLock).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (file < 0 && errno == ENOENT) return -1;
  check(file >= 0, (folder / kLock).string(),
        ": cannot open the lock file: ", std::strerror(errno));
  const int reason = try_lock(file);
  if (reason != 0 || !is_still(file, folder / kLock)) {
    close(file);
    check(reason == 0 || reason == EWOULDBLOCK, (folder / kLock).string(),
          ": cannot lock the file: ", std::strerror(reason));
    return -1;
  }
  write_lock(file, join(getpid(), "\n"));
  return file;
}

std::string owner_of(const fs::path& folder) {
  const std::string owner = lock_text_in(folder).owner;
  return owner.empty() ? "" : ", process " + owner;
}

// The highest missing folder of the path; "" if all exist.
fs::path first_missing(fs::path folder) {
  fs::path missing;
  for (; !folder.empty() && !fs::exists(folder); folder = folder.parent_path()) missing = folder;
  return missing;
}

// True if a file has the name, or a link that leads to no folder.
bool is_taken(const fs::path& name) {
  std::error_code trouble;
  return fs::exists(fs::symlink_status(name, trouble)) && !fs::is_directory(name, trouble);
}

// Throws if the series' first folder is a link to nothing.
void check_link(const fs::path& first) {
  std::error_code trouble;
  check(!is_taken(first) || !fs::is_symlink(first, trouble), "the link '", first.string(),
        "' leads to '", target_of(first).string(),
        "', which is no folder; remove the link, or create the folder");
}

// Removes `folder` and the folders above up to `highest`, while they are empty.
void remove_empty(fs::path folder, const fs::path& highest) {
  std::error_code trouble;  // a leftover folder: not worth ending a run
  while (!highest.empty() && fs::remove(folder, trouble) && folder != highest)
    folder = folder.parent_path();
}

}  // namespace

std::unique_ptr<RunLock> start_next_run(const std::string& series) {
  const fs::path first = without_slashes(series);
  const std::string name = first.filename().string();
  check(!name.empty() && name != "." && name != "..", "OUTPUT_DIR is '", series,
        "', should end with the name of a folder");
  fs::path above;  // the highest folder that this start makes above the run's folder
  try {
    above = first_missing(first.parent_path());
    for (int number = std::max(last_number(first), 1);; ++number) {
      const fs::path folder = numbered(first, number);
      if (number > 1 && is_taken(folder)) continue;
      check_link(folder);
      make_folder(folder.string());
      if (!holds_no_result(folder)) continue;
      // Of two simultaneous starts one succeeds.
      const int file = take_lock(folder);
      if (file < 0) continue;
      std::unique_ptr<RunLock> lock(new RunLock(folder.string(), file, above));
      if (!holds_no_result(folder)) continue;  // another run has come and gone meanwhile
      remove_files_of_start(folder);
      return lock;
    }
  } catch (const fs::filesystem_error& error) {
    remove_empty(first.parent_path(), above);
    fail("OUTPUT_DIR: ", refusal_text(error));
  } catch (const Error& error) {
    remove_empty(first.parent_path(), above);
    fail("OUTPUT_DIR: ", error.what());
  }
}

std::vector<std::string> runs_of(const std::string& series) {
  const fs::path first = without_slashes(series);
  std::vector<std::string> runs;
  std::error_code trouble;
  for (int number = last_number(first); number > 0; --number)
    if (const fs::path folder = numbered(first, number);
        fs::is_directory(folder, trouble) && (!holds_nothing(folder) || held_by(folder.string())))
      runs.push_back(folder.string());
  return runs;
}

std::string series_with(const std::string& folder) {
  const fs::path path = without_slashes(folder);
  const fs::path series = path.parent_path() / path.stem();
  return number_of(path, series) > 1 ? series.string() : path.string();
}

fs::path without_slashes(const std::string& named) {
  fs::path path(named);
  while (path.has_parent_path() && path.has_relative_path() &&
         (!path.has_filename() || path.filename() == "."))
    path = path.parent_path();
  return path;
}

fs::path target_of(const fs::path& link) {
  std::error_code trouble;
  const fs::path target = without_slashes(fs::read_symlink(link, trouble).string());
  return target.is_absolute() ? target : link.parent_path() / target;
}

std::string real_folder(const std::string& named) {
  fs::path folder = without_slashes(named);
  std::error_code trouble;
  if (!fs::is_directory(folder, trouble)) return folder.string();
  while (fs::is_symlink(folder, trouble)) folder = target_of(folder);
  return folder.string();
}

std::optional<std::string> held_by(const std::string& folder) {
  const int file = open((fs::path(folder) / kLock).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  const bool held = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  return held ? std::optional(owner_of(folder)) : std::nullopt;
}

bool had_run(const std::string& folder) { return fs::exists(fs::path(folder) / kLock); }

std::string checkpoint_in(const std::string& folder) { return folder + "/checkpoint.safetensors"; }
std::string step_in(const std::string& folder) { return folder + "/step.onnx"; }

void point_latest_to(const std::string& folder) {
  const fs::path path(folder), parent = path.parent_path();
  if (parent.filename() != "runs" || path.filename() == "latest") return;
  const fs::path latest = parent / "latest", next = parent / join(".latest.", getpid());
  std::error_code trouble;  // a convenience: not worth ending a run
  if (fs::exists(fs::symlink_status(latest, trouble)) && !fs::is_symlink(latest, trouble)) return;
  fs::remove(next, trouble);
  fs::create_directory_symlink(path.filename(), next, trouble);
  if (!trouble) fs::rename(next, latest, trouble);
  if (trouble) fs::remove(next, trouble);
}

RunLock::RunLock(const std::string& folder) : folder_(folder), file_(take_lock(folder)) {
  check(file_ >= 0, "'", folder, "' is in use by another run", owner_of(folder));
}

void RunLock::begun() const { write_lock(file_, join(getpid(), "\n", kBegun, "\n")); }

RunLock::~RunLock() {
  try {
    if (holds_no_result(folder_)) {
      fs::remove_all(folder_);
      remove_empty(fs::path(folder_).parent_path(), above_);
    }
  } catch (const fs::filesystem_error&) {  // a leftover folder: not worth ending a run
  }
  close(file_);
}

}  // namespace lockstep
