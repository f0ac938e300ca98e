// SPDX-License-Identifier: Apache-2.0
#include "graph/staged_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "graph/file.h"
#include "graph/refusal.h"
#include "graph/write_place.h"
#include "lockstep/error.h"

namespace lockstep {

namespace {

constexpr auto kPatience = std::chrono::seconds(30);

// Waits until no other StagedFile holds the lock. File systems without locks never wait.
void lock(int descriptor, const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
    if (std::chrono::steady_clock::now() > end)
      fail("cannot create '", path,
           "': another command, or another file of this command, has been writing it for 30 "
           "seconds; choose another name");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// False once another writer has renamed or deleted the file that was opened.
bool is_still_at(const std::string& path, int descriptor) {
  struct stat opened = {}, there = {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
         opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

// Locks and empties the file; a killed writer may have left content. Returns false if another
// writer has renamed or deleted the file since it was opened.
bool take_over(const std::string& path, int descriptor) {
  lock(descriptor, path);
  if (!is_still_at(path, descriptor)) return false;
  if (::ftruncate(descriptor, 0) != 0) fail_errno(path, "empty");
  return true;
}

int open_alone(const std::string& path) {
  while (true) {
    refuse_special_or_link(path);  // a pipe would wait for its reader
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) fail_errno(path, "create");
    try {
      if (take_over(path, descriptor)) return descriptor;
    } catch (...) {
      ::close(descriptor);
      throw;
    }
    ::close(descriptor);
  }
}

}  // namespace

StagedFile::StagedFile(const std::string& path)
    : place_(write_place(path)), temporary_(place_ + ".tmp"), descriptor_(open_alone(temporary_)) {}

StagedFile::~StagedFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  ::close(descriptor_);
}

void StagedFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno(temporary_, "write");
    bytes = bytes.subspan(written);
  }
}

void StagedFile::sync() {
  if (::fsync(descriptor_) != 0) fail_errno(temporary_, "sync");
}

void StagedFile::replace() {
  rename_file(temporary_, place_);
  temporary_.clear();
}

}  // namespace lockstep
