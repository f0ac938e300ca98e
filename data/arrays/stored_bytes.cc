// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/stored_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "graph/refusal.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// Non-blocking: opening a pipe would wait for its writer.
Descriptor opened(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (file.number() < 0) fail_errno(path, "read");
  return file;
}

struct stat facts_of(int file, const std::string& path) {
  struct stat facts = {};
  if (::fstat(file, &facts) != 0) fail_errno(path, "read");
  return facts;
}

// Reads by pread, not by a mapping: the pages of a mapping count as memory of the process, and a
// file that shrinks would kill it.
void read_at(int file, const std::string& path, int64_t offset, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(file, bytes.data(), bytes.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(path, "read");
    check(got > 0, "cannot read ", path, ": it ends at byte ", offset, ", ", bytes.size(),
          " bytes early");
    bytes = bytes.subspan(got);
    offset += got;
  }
}

class FileBytes final : public StoredBytes {
 public:
  using StoredBytes::read;
  FileBytes(const std::string& path, bool is_of_many) : path_(path), file_(opened(path)) {
    facts_ = facts_of(file_.number(), path_);
    check(S_ISREG(facts_.st_mode), "cannot read ", path_, ": it is not a regular file");
    if (is_of_many) Descriptor(std::move(file_));
  }

  void read(std::span<const Piece> pieces) const override {
    if (file_.number() >= 0) return read_from(file_.number(), pieces);
    const Descriptor file = opened(path_);
    read_from(file.number(), pieces);
  }
  int64_t size() const override { return facts_.st_size; }
  bool is_memory() const override { return false; }

 private:
  void read_from(int file, std::span<const Piece> pieces) const {
    const auto in_time = [](const struct stat& facts) {
      return std::pair(facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    };
    const auto check_unchanged = [&] {
      const struct stat now = facts_of(file, path_);
      check(now.st_size == facts_.st_size && in_time(now) == in_time(facts_), path_,
            ": the file changed after it was opened (", facts_.st_size, " bytes then, ",
            now.st_size, " now); a run needs the same data from its start to its end");
    };
    try {
      for (const auto& [offset, to] : pieces) {
        check(offset >= 0 && offset <= size() && std::ssize(to) <= size() - offset, "cannot read ",
              path_, ": bytes ", offset, " to ", offset + std::ssize(to), " are beyond the end, ",
              size());
        read_at(file, path_, offset, to);
      }
    } catch (const Error&) {
      check_unchanged();  // the better reason
      throw;
    }
    check_unchanged();
  }

  std::string path_;
  Descriptor file_;
  struct stat facts_ = {};
};

class MemoryBytes final : public StoredBytes {
 public:
  using StoredBytes::read;
  explicit MemoryBytes(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  void read(std::span<const Piece> pieces) const override {
    for (const auto& [offset, to] : pieces) {
      check(offset >= 0 && offset <= size() && std::ssize(to) <= size() - offset,
            "internal: bytes from ", offset, " on of ", size());
      if (!to.empty()) std::memcpy(to.data(), bytes_.data() + offset, to.size());
    }
  }
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  bool is_memory() const override { return true; }

 private:
  std::vector<std::byte> bytes_;
};

// The decoded bytes in a file without a name.
class ScratchBytes final : public StoredBytes {
 public:
  using StoredBytes::read;
  ScratchBytes(int file, int64_t size) : file_(file), size_(size) {}

  void read(std::span<const Piece> pieces) const override {
    for (const auto& [offset, to] : pieces)
      read_at(file_.number(), "the temporary file of a decoded array", offset, to);
  }
  int64_t size() const override { return size_; }
  bool is_memory() const override { return false; }

 private:
  Descriptor file_;
  int64_t size_;
};

int scratch_file(const std::string& folder) {
  const char* const said = std::getenv("TMPDIR");
  const std::string place = !folder.empty() ? folder : said && *said ? said : "/var/tmp";
  std::string name = place + "/lockstep-arrays-XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) fail_errno(name, "create");
  ::unlink(name.c_str());
  return file;
}

constexpr std::size_t kChunk = std::size_t{4} << 20;  // bytes of one write

}  // namespace

std::shared_ptr<const StoredBytes> open_bytes(const std::string& path, bool is_of_many) {
  return std::make_shared<FileBytes>(path, is_of_many);
}

std::shared_ptr<const StoredBytes> bytes_in_memory(std::vector<std::byte> bytes) {
  return std::make_shared<MemoryBytes>(std::move(bytes));
}

DecodedBytes::~DecodedBytes() {
  if (file_ >= 0) ::close(file_);
}

void DecodedBytes::append(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  const auto held = static_cast<int64_t>(bytes_.size());
  if (file_ < 0) {
    if (held - taken_ <= room_.memory) {
      room_.memory -= held - taken_;
      taken_ = held;
      return;
    }
    if (held < static_cast<int64_t>(kChunk)) return;  // a file for less is not worth it
    file_ = scratch_file(room_.scratch);
    room_.memory += taken_;
    taken_ = 0;
  }
  if (bytes_.size() >= kChunk) write_out();
}

void DecodedBytes::write_out() {
  for (std::span<const std::byte> left(bytes_); !left.empty();) {
    const ssize_t put = ::pwrite(file_, left.data(), left.size(), written_);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      fail("cannot write the temporary file of a decoded array in ",
           room_.scratch.empty() ? "TMPDIR or /var/tmp" : room_.scratch, ": ", std::strerror(errno),
           "; use another folder, or files that need no decoding");
    left = left.subspan(put);
    written_ += put;
  }
  bytes_.clear();
}

std::shared_ptr<const StoredBytes> DecodedBytes::finish() {
  if (file_ < 0) {
    bytes_.shrink_to_fit();
    return bytes_in_memory(std::move(bytes_));
  }
  write_out();
  bytes_ = {};
  return std::make_shared<ScratchBytes>(std::exchange(file_, -1), written_);
}

}  // namespace lockstep
