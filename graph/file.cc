// SPDX-License-Identifier: Apache-2.0
#include "graph/file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "graph/limits.h"
#include "graph/refusal.h"
#include "graph/staged_file.h"
#include "graph/write_place.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class InputFile {
 public:
  // Non-blocking: opening a pipe would wait for its writer.
  explicit InputFile(const std::string& path)
      : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (descriptor_ < 0 || ::fstat(descriptor_, &facts_) != 0) fail_errno(path_, "read");
  }
  InputFile(const InputFile&) = delete;
  ~InputFile() { ::close(descriptor_); }

  bool is_regular() const { return S_ISREG(facts_.st_mode); }
  bool is_pipe() const { return S_ISFIFO(facts_.st_mode); }
  std::size_t size() const { return facts_.st_size; }
  std::string kind() const { return file_kind(facts_.st_mode); }

  // Reads until the end, because some files under /proc claim to be empty. `before_each` gets the
  // number of bytes read so far.
  std::string read_all(const std::function<void(std::size_t)>& before_each) {
    constexpr std::size_t kLeast = 4096;
    std::string text;
    text.resize(std::max(size() + 1, kLeast));
    std::size_t end = 0;
    for (;;) {
      before_each(end);
      if (end == text.size()) text.resize(2 * end);
      const ssize_t got = ::read(descriptor_, text.data() + end, text.size() - end);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got < 0) fail_errno(path_, "read");
      if (got == 0) break;
      end += got;
    }
    text.resize(end);
    return text;
  }

  void read_part(int64_t offset, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t got = ::pread(descriptor_, bytes.data(), bytes.size(), offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_errno(path_, "read");
      check(got > 0, "cannot read ", path_, ": it ends at ", offset, ", ", bytes.size(),
            " bytes early");
      bytes = bytes.subspan(got);
      offset += got;
    }
  }

  void wait(int seconds) const {
    pollfd one{descriptor_, POLLIN, 0};
    check(::poll(&one, 1, seconds * 1000) != 0, "cannot read ", path_,
          ": the pipe delivered nothing for ", seconds, " s");
  }

 private:
  std::string path_;
  int descriptor_;
  struct stat facts_ = {};
};

}  // namespace

void rename_file(const std::string& from, const std::string& to) {
  refuse_special(to);
  if (std::rename(from.c_str(), to.c_str()) != 0) fail_errno(to, "replace");
  // The rename is durable only after its folder is synced.
  const std::string folder = std::filesystem::path(to).parent_path().string();
  const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (directory < 0) return;
  ::fsync(directory);
  ::close(directory);
}

void write_file(const std::string& path, const std::function<void(const FileSink&)>& write) {
  StagedFile file(path);
  write([&](std::span<const std::byte> bytes) { file.append(bytes); });
  file.sync();
  file.replace();
}

void write_file(const std::string& path, const std::string& text) {
  write_file(path, [&](const FileSink& sink) { sink(std::as_bytes(std::span(text))); });
}

void make_folder(const std::string& path) {
  std::error_code trouble;
  std::filesystem::create_directories(path, trouble);
  check(!trouble, "cannot create the folder ", refusal_text(path, trouble));
}

std::string read_file(const std::string& path) {
  InputFile file(path);
  check(file.is_regular(), "cannot read ", path, ": it is ", file.kind(), ", not a regular file");
  check_memory(file.size(), path);
  return file.read_all([&](std::size_t) {});
}

std::string read_file_start(const std::string& path, std::size_t most) {
  const InputFile file(path);
  check(file.is_regular(), "cannot read ", path, ": it is ", file.kind(), ", not a regular file");
  std::string start(std::min(most, file.size()), '\0');
  file.read_part(0, std::as_writable_bytes(std::span(start)));
  return start;
}

void read_file_part(const std::string& path, int64_t offset, std::span<std::byte> bytes) {
  const InputFile file(path);
  check(file.is_regular(), "cannot read ", path, ": it is ", file.kind(), ", not a regular file");
  file.read_part(offset, bytes);
}

std::string read_file_or_pipe(const std::string& path, std::size_t limit, int patience) {
  InputFile file(path);
  check(file.is_regular() || file.is_pipe(), "cannot read ", path, ": it is ", file.kind(),
        ", neither a regular file nor a pipe");
  auto within = [&](std::size_t size) {
    check(size <= limit, "cannot read ", path, ": it is longer than ", limit, " bytes");
  };
  within(file.size());
  return file.read_all([&](std::size_t so_far) {
    within(so_far);
    if (file.is_pipe()) file.wait(patience);
  });
}

}  // namespace lockstep
