#include "graph/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "graph/error.h"

namespace lockstep {
namespace {

[[noreturn]] void fail_errno(const std::string& path, const char* what) {
  fail("cannot ", what, " ", path, ": ", std::strerror(errno));
}

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail_errno(path_, "create");
  }
  TemporaryFile(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  void append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_errno(path_, "write");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void rename_to(const std::string& path) {
    if (::fsync(descriptor_) != 0) fail_errno(path_, "sync");
    int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0) fail_errno(path_, "close");
    if (std::rename(path_.c_str(), path.c_str()) != 0) fail_errno(path, "replace");
    path_.clear();
    // The rename itself is on disk only when the folder is.
    std::string folder = std::filesystem::path(path).parent_path().string();
    int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (directory >= 0) {
      ::fsync(directory);
      ::close(directory);
    }
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace

void write_file(const std::string& path, const std::function<void(const FileSink&)>& write) {
  TemporaryFile file(path + ".tmp");
  write([&](std::span<const std::byte> bytes) { file.append(bytes); });
  file.rename_to(path);
}

void write_file(const std::string& path, const std::string& text) {
  write_file(path, [&](const FileSink& sink) { sink(std::as_bytes(std::span(text))); });
}

void make_folder(const std::string& path) {
  std::error_code trouble;
  std::filesystem::create_directories(path, trouble);
  check(!trouble && std::filesystem::is_directory(path, trouble), "cannot make the folder '", path,
        "'", trouble ? ": " + trouble.message() : "");
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(!std::filesystem::is_directory(path) && bool(file), "cannot read ", path, ": ",
        std::filesystem::is_directory(path) ? "it is a folder" : std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace lockstep
