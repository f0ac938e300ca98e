// SPDX-License-Identifier: Apache-2.0
#include "graph/staged_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "graph/file.h"
#include "graph/refusal.h"
#include "graph/write_place.h"

namespace lockstep {

// A pipe of the temporary name would wait for its reader.
StagedFile::StagedFile(const std::string& path) : place_(write_place(path)) {
  const std::string temporary = place_ + ".tmp";
  refuse_special_or_link(temporary);
  descriptor_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail_errno(temporary, "create");
  temporary_ = temporary;
}

StagedFile::~StagedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
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
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_errno(temporary_, "close");
}

void StagedFile::replace() {
  rename_file(temporary_, place_);
  temporary_.clear();
}

}  // namespace lockstep
