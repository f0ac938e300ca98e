// SPDX-License-Identifier: Apache-2.0
// Bytes in files and in memory, read at any place by any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace lockstep {

class StoredBytes {
 public:
  struct Piece {
    int64_t offset = 0;
    std::span<std::byte> to;  // is filled from `offset` on
  };

  virtual ~StoredBytes() = default;
  // Throws, naming the file, if the bytes are not there or if the file changed since it was opened.
  virtual void read(std::span<const Piece> pieces) const = 0;
  void read(int64_t offset, std::span<std::byte> to) const {
    const Piece piece{offset, to};
    read(std::span(&piece, 1));
  }
  virtual int64_t size() const = 0;
  virtual bool is_memory() const = 0;
};

// Opens a regular file. A file of many is closed between reads, because a process may open few.
std::shared_ptr<const StoredBytes> open_bytes(const std::string& path, bool is_of_many);
std::shared_ptr<const StoredBytes> bytes_in_memory(std::vector<std::byte> bytes);

// The limits on decoded arrays, shared by the arrays of a set.
struct DecodingRoom {
  int64_t memory = 0;   // bytes that may still be kept in memory
  std::string scratch;  // folder of temporary files; "": TMPDIR, or /var/tmp
};

// Bytes that are appended, then read: in memory while the room lasts, then in a temporary file
// without a name, which vanishes with the process.
class DecodedBytes {
 public:
  explicit DecodedBytes(DecodingRoom& room) : room_(room) {}
  DecodedBytes(const DecodedBytes&) = delete;
  ~DecodedBytes();

  void append(std::span<const std::byte> bytes);
  int64_t size() const { return written_ + static_cast<int64_t>(bytes_.size()); }
  std::shared_ptr<const StoredBytes> finish();

 private:
  void write_out();

  DecodingRoom& room_;
  std::vector<std::byte> bytes_;  // not yet in the file
  int64_t taken_ = 0;             // of the room's memory
  int file_ = -1;
  int64_t written_ = 0;
};

}  // namespace lockstep
