#include "tools/train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "graph/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = ".lock";

// A / at the end names no folder of its own.
fs::path plain(const std::string& series) {
  const fs::path path(series);
  return path.has_filename() ? path : path.parent_path();
}

fs::path numbered(const fs::path& series, int number) {
  return number == 1 ? series : fs::path(join(series.string(), ".", number));
}

// The number of a folder of the series, or 0.
int number_of(const fs::path& folder, const fs::path& series) {
  const std::string name = folder.filename().string(), first = series.filename().string();
  if (name == first) return 1;
  if (name.rfind(first + ".", 0) != 0) return 0;
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
    if (entry.is_directory()) last = std::max(last, number_of(entry.path(), series));
  return last;
}

// An empty folder that somebody prepared is taken as one's own by whoever first makes its lock.
bool took_empty(const fs::path& folder) {
  if (!fs::is_directory(folder) || !fs::is_empty(folder)) return false;
  const int file = open((folder / kLock).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (file >= 0) close(file);
  return file >= 0;
}

}  // namespace

std::string make_next_run(const std::string& series) {
  const fs::path first = plain(series);
  try {
    if (first.has_parent_path()) fs::create_directories(first.parent_path());
    for (int number = std::max(last_number(first), 1);; ++number) {
      const fs::path folder = numbered(first, number);
      // mkdir makes it for one of two that ask.
      if (fs::create_directory(folder) || took_empty(folder)) return folder.string();
      check(fs::is_directory(folder), "'", folder.string(), "' is no folder");
    }
  } catch (const fs::filesystem_error& error) {
    fail("OUTPUT_DIR: ", error.what());
  } catch (const Error& error) {
    fail("OUTPUT_DIR: ", error.what());
  }
}

std::string newest_run(const std::string& series) {
  const fs::path first = plain(series);
  const int last = last_number(first);
  return last == 0 ? "" : numbered(first, last).string();
}

std::string checkpoint_in(const std::string& folder) { return folder + "/checkpoint.safetensors"; }
std::string step_in(const std::string& folder) { return folder + "/step.onnx"; }

void point_latest_to(const std::string& folder) {
  const fs::path path(folder), parent = path.parent_path();
  if (parent.filename() != "runs") return;
  const fs::path latest = parent / "latest", next = parent / join(".latest.", getpid());
  std::error_code trouble;  // a convenience is no reason to end a run
  if (fs::exists(fs::symlink_status(latest, trouble)) && !fs::is_symlink(latest, trouble)) return;
  fs::remove(next, trouble);
  fs::create_directory_symlink(path.filename(), next, trouble);
  if (!trouble) fs::rename(next, latest, trouble);
  if (trouble) fs::remove(next, trouble);
}

RunLock::RunLock(const std::string& folder) : folder_(folder) {
  const std::string path = folder + "/" + kLock;
  file_ = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  check(file_ >= 0, path, ": ", std::strerror(errno));
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) {
    const std::string me = join(getpid(), "\n");
    if (ftruncate(file_, 0) == 0 && write(file_, me.data(), me.size()) > 0) return;
    return;
  }
  const int reason = errno;
  char owner[32] = {};
  const ssize_t size = read(file_, owner, sizeof owner - 1);
  close(file_);
  check(reason != EWOULDBLOCK, "'", folder, "' is in use by another run",
        size > 1 ? join(", process ", std::string(owner, static_cast<std::size_t>(size) - 1)) : "");
  fail(path, ": ", std::strerror(reason));
}

RunLock::~RunLock() {
  std::error_code trouble;
  const auto files = fs::directory_iterator(folder_, trouble);
  if (!trouble && std::all_of(begin(files), end(files), [](const fs::directory_entry& entry) {
        return entry.path().filename() == kLock;
      }))
    fs::remove_all(folder_, trouble);
  close(file_);
}

}  // namespace lockstep
