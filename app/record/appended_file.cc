// SPDX-License-Identifier: Apache-2.0
#include "app/record/appended_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lockstep/error.h"

namespace lockstep {

AppendedFile::AppendedFile(std::string path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  check(descriptor_ >= 0, "cannot write ", path_, ": ", std::strerror(errno));
}

AppendedFile::~AppendedFile() { ::close(descriptor_); }

void AppendedFile::append(std::string_view bytes) {
  waiting_ += bytes;
  trouble_.clear();
  while (!waiting_.empty()) {
    const ssize_t written = ::write(descriptor_, waiting_.data(), waiting_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      trouble_ = join("cannot write ", path_, ": ", std::strerror(written < 0 ? errno : ENOSPC));
      return;
    }
    waiting_.erase(0, written);
  }
}

}  // namespace lockstep
