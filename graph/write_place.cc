// SPDX-License-Identifier: Apache-2.0
#include "graph/write_place.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <filesystem>
#include <system_error>

#include "graph/refusal.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // the kernel's limit

// True for a folder under /proc. Links there stand for open files: replacing the file would not
// reach the process that has the file open, and a pipe has no name.
bool is_of_processes(const fs::path& folder) {
  struct statfs facts = {};
  return ::statfs(folder.empty() ? "." : folder.c_str(), &facts) == 0 &&
         facts.f_type == PROC_SUPER_MAGIC;
}

void check_regular(const std::string& path, mode_t mode) {
  check(S_ISREG(mode), "cannot write '", path, "': it is ", file_kind(mode),
        ", not a regular file, and is not replaced; choose another name");
}

}  // namespace

std::string file_kind(mode_t mode) {
  return S_ISDIR(mode)    ? "a folder"
         : S_ISFIFO(mode) ? "a pipe"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISLNK(mode)  ? "a link"
                          : "a device";
}

std::string write_place(const std::string& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) == 0) check_regular(path, facts.st_mode);
  fs::path place = path;
  for (int links = 0; ::lstat(place.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode); ++links) {
    check(links < kMostLinks, "cannot write ",
          refusal_text(path, std::make_error_code(std::errc::too_many_symbolic_link_levels)));
    check(!is_of_processes(place.parent_path()), "cannot write '", path,
          "': it leads to an open file of a process, such as its standard output; choose a file's "
          "own name");
    std::error_code trouble;
    const fs::path next = fs::read_symlink(place, trouble);
    check(!trouble, "cannot read the link ", refusal_text(place.string(), trouble));
    place = place.parent_path() / next;
  }
  return place.string();
}

void refuse_special(const std::string& path) {
  struct stat facts = {};
  if (::lstat(path.c_str(), &facts) == 0 && !S_ISLNK(facts.st_mode))
    check_regular(path, facts.st_mode);
}

void refuse_special_or_link(const std::string& path) {
  struct stat facts = {};
  if (::lstat(path.c_str(), &facts) == 0) check_regular(path, facts.st_mode);
}

void check_places_differ(const std::string& path, const std::string& data) {
  const fs::path one = fs::absolute(write_place(path)), other = fs::absolute(write_place(data));
  std::error_code none;  // a missing folder equals no other
  check(one.filename() != other.filename() ||
            !fs::equivalent(one.parent_path(), other.parent_path(), none),
        "cannot write '", path, "': it leads to '", data,
        "', which holds the model's data; choose another name");
}

}  // namespace lockstep
