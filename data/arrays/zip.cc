// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/zip.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <string_view>

#include "graph/limits.h"
#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Little-endian numbers at the places of a record of the format.
class ZipRecord {
 public:
  ZipRecord(const StoredBytes& file, const std::string& path, int64_t offset, int64_t size)
      : path_(path) {
    check(offset >= 0 && size >= 0 && offset <= file.size() && size <= file.size() - offset, path,
          ": not a ZIP file, or a truncated or damaged one (a record at byte ", offset,
          " would end beyond the file)");
    check_memory(size, path);
    bytes_.resize(size);
    file.read(offset, bytes_);
  }

  uint64_t number(int64_t at, int width) const {
    check(at >= 0 && at + width <= size(), path_, ": the ZIP directory is damaged");
    uint64_t value = 0;
    for (int i = width; i-- > 0;) value = value << 8U | static_cast<uint8_t>(bytes_[at + i]);
    return value;
  }
  // A number that fits into 63 bits.
  int64_t place(int64_t at, int width) const {
    const uint64_t value = number(at, width);
    check(value <= uint64_t{std::numeric_limits<int64_t>::max()}, path_,
          ": the ZIP directory is damaged");
    return static_cast<int64_t>(value);
  }
  std::string text(int64_t at, int64_t length) const {
    check(at >= 0 && at + length <= size(), path_, ": the ZIP directory is damaged");
    return {reinterpret_cast<const char*>(bytes_.data()) + at, static_cast<std::size_t>(length)};
  }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

 private:
  const std::string& path_;
  std::vector<std::byte> bytes_;
};

constexpr uint64_t kEndMark = 0x06054b50, kWideEndMark = 0x06064b50, kWidePlaceMark = 0x07064b50,
                   kEntryMark = 0x02014b50, kLocalMark = 0x04034b50;
constexpr int64_t kEndSize = 22, kWideEndSize = 56, kWidePlaceSize = 20, kEntrySize = 46,
                  kLocalSize = 30;
constexpr uint64_t kNarrowMost = 0xFFFFFFFF;  // the value is in a record of ZIP64
constexpr int64_t kMostDirectory = int64_t{64} << 20;

struct ZipDirectory {
  int64_t offset = 0, size = 0, entries = 0;
};

ZipDirectory find_zip_directory(const StoredBytes& file, const std::string& path) {
  const int64_t searched = std::min<int64_t>(file.size(), kEndSize + 0xFFFF);
  const int64_t start = file.size() - searched;
  const ZipRecord end(file, path, start, searched);
  int64_t at = searched - kEndSize;
  // The mark may also occur in the comment: the right one's comment ends with the file.
  const auto is_end = [&] {
    return end.number(at, 4) == kEndMark && at + kEndSize + end.place(at + 20, 2) == searched;
  };
  while (at >= 0 && !is_end()) --at;
  check(at >= 0, path, ": not a ZIP file, or a truncated one (its directory is missing)");
  ZipDirectory found{end.place(at + 16, 4), end.place(at + 12, 4), end.place(at + 10, 2)};
  const bool is_split = end.number(at + 4, 2) != end.number(at + 6, 2);
  check(!is_split, path, ": a ZIP file in several parts");
  if (end.number(at + 16, 4) == kNarrowMost || end.number(at + 12, 4) == kNarrowMost ||
      end.number(at + 10, 2) == 0xFFFF) {
    const ZipRecord place(file, path, start + at - kWidePlaceSize, kWidePlaceSize);
    check(place.number(0, 4) == kWidePlaceMark, path, ": the ZIP64 directory is missing");
    const ZipRecord wide(file, path, place.place(8, 8), kWideEndSize);
    check(wide.number(0, 4) == kWideEndMark, path, ": the ZIP64 directory is damaged");
    found = {wide.place(48, 8), wide.place(40, 8), wide.place(32, 8)};
  }
  check(found.size <= kMostDirectory, path, ": a ZIP directory of ", found.size, " bytes");
  return found;
}

// Replaces the sizes and the offset that are too large for the entry's fields.
void read_wide_sizes(const ZipRecord& all, int64_t at, int64_t length, ZipMember& member,
                     int64_t& local) {
  const auto is_wide = [](int64_t value) { return value == int64_t{kNarrowMost}; };
  for (const int64_t end = at + length; at + 4 <= end;) {
    const uint64_t kind = all.number(at, 2);
    const int64_t next = at + 4 + all.place(at + 2, 2);
    at += 4;
    if (kind == 1) {
      for (int64_t* value : {&member.size, &member.packed, &local}) {
        if (!is_wide(*value) || at + 8 > next) continue;
        *value = all.place(at, 8);
        at += 8;
      }
      return;
    }
    at = next;
  }
}

// Finds the data behind the local header, which repeats the name and has other extra fields.
void find_zip_data(const StoredBytes& file, const std::string& path, int64_t local,
                   ZipMember& member) {
  const std::string what = join(path, ": member '", printable(member.name), "'");
  const ZipRecord header(file, path, local, kLocalSize);
  check(header.number(0, 4) == kLocalMark, what, ": its header is missing; the file is damaged");
  member.offset = local + kLocalSize + header.place(26, 2) + header.place(28, 2);
  check(member.offset <= file.size() && member.packed <= file.size() - member.offset, what,
        ": its data is outside the file, which is truncated or damaged");
  // Deflate shrinks data to no less than a 1032nd.
  check(member.is_deflated ? member.size / 1032 <= member.packed : member.size == member.packed,
        what, ": ", member.packed, " bytes cannot be ", member.size, " bytes of data");
}

}  // namespace

std::vector<ZipMember> read_zip_directory(const StoredBytes& file, const std::string& path) {
  const ZipDirectory directory = find_zip_directory(file, path);
  const ZipRecord all(file, path, directory.offset, directory.size);
  std::vector<ZipMember> members;
  std::set<std::string> names;
  int64_t at = 0;
  for (int64_t i = 0; i < directory.entries; ++i) {
    check(all.number(at, 4) == kEntryMark, path, ": the ZIP directory is damaged");
    const int64_t name = all.place(at + 28, 2), extra = all.place(at + 30, 2),
                  comment = all.place(at + 32, 2);
    ZipMember member;
    member.name = all.text(at + kEntrySize, name);
    const std::string what = join(path, ": member '", printable(member.name), "'");
    check((all.number(at + 8, 2) & 1U) == 0, what, " is encrypted");
    const uint64_t method = all.number(at + 10, 2);
    check(method == 0 || method == 8, what, " is compressed by method ", method,
          "; numpy.savez and numpy.savez_compressed write methods that can be read");
    member.is_deflated = method == 8;
    member.crc = static_cast<uint32_t>(all.number(at + 16, 4));
    member.packed = all.place(at + 20, 4);
    member.size = all.place(at + 24, 4);
    int64_t local = all.place(at + 42, 4);
    all.text(at + kEntrySize + name, extra);  // within the directory
    read_wide_sizes(all, at + kEntrySize + name, extra, member, local);
    find_zip_data(file, path, local, member);
    check(names.insert(member.name).second, what, " occurs twice");
    members.push_back(std::move(member));
    at += kEntrySize + name + extra + comment;
  }
  return members;
}

}  // namespace lockstep
