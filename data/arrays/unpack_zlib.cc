// SPDX-License-Identifier: Apache-2.0
#include "data/arrays/unpack.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "lockstep/error.h"

namespace lockstep {

struct ZipData::Members {
  Members(const StoredBytes& file, const ZipMember& member, std::string what)
      : file(file), member(member), what(std::move(what)) {
    // Negative: deflated data without zlib's own header.
    if (member.is_deflated)
      check(inflateInit2(&stream, -MAX_WBITS) == Z_OK, this->what, ": no memory to unpack it");
  }
  ~Members() {
    if (member.is_deflated) inflateEnd(&stream);
  }

  void refill() {
    const int64_t now = std::min<int64_t>(kInput, member.packed - taken);
    check(now > 0, what, ": its data is damaged: it ends early");
    input.resize(now);
    file.read(member.offset + taken, input);
    taken += now;
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(now);
  }

  void inflate_next(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      if (stream.avail_in == 0) refill();
      const auto most = std::min<std::size_t>(bytes.size(), kOutput);
      stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
      stream.avail_out = static_cast<uInt>(most);
      const int result = inflate(&stream, Z_NO_FLUSH);
      const std::size_t got = most - stream.avail_out;
      bytes = bytes.subspan(got);
      check(result == Z_OK || result == Z_STREAM_END || (result == Z_BUF_ERROR && got > 0), what,
            ": its data is damaged", stream.msg ? ": " : "", stream.msg ? stream.msg : "");
      check(result != Z_STREAM_END || bytes.empty(), what, ": its data is damaged: it ends early");
    }
  }

  static constexpr int64_t kInput = int64_t{256} << 10;
  static constexpr std::size_t kOutput = std::size_t{1} << 30;

  const StoredBytes& file;
  const ZipMember& member;
  std::string what;
  z_stream stream = {};
  std::vector<std::byte> input;
  int64_t taken = 0;  // bytes of the packed data
  int64_t given = 0;  // bytes of the unpacked data
  uLong crc = crc32(0, nullptr, 0);
};

ZipData::ZipData(const StoredBytes& file, const ZipMember& member, std::string what)
    : members_(std::make_unique<Members>(file, member, std::move(what))) {}
ZipData::~ZipData() = default;

void ZipData::next(std::span<std::byte> bytes) {
  Members& all = *members_;
  check(static_cast<int64_t>(bytes.size()) <= all.member.size - all.given, all.what,
        ": its data is damaged: it ends early");
  if (all.member.is_deflated) {
    all.inflate_next(bytes);
  } else {
    all.file.read(all.member.offset + all.given, bytes);
  }
  all.given += static_cast<int64_t>(bytes.size());
  all.crc = crc32_z(all.crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

void ZipData::finish() {
  Members& all = *members_;
  std::array<std::byte, 4096> rest;
  while (all.given < all.member.size)
    next(std::span(rest).first(std::min<int64_t>(rest.size(), all.member.size - all.given)));
  check(all.crc == all.member.crc, all.what, ": its data is damaged: the checksum differs");
}

}  // namespace lockstep
