// SPDX-License-Identifier: Apache-2.0
#include "data/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr int64_t kMostHeader = 1 << 20;

// The text after `'key':` in the header, a Python dictionary.
std::string_view entry(std::string_view header, std::string_view key, const std::string& path) {
  auto at = header.find(key);
  check(at != header.npos, path, ": the .npy header has no ", key);
  at = header.find(':', at);
  check(at != header.npos, path, ": the .npy header is damaged");
  header.remove_prefix(at + 1);
  while (header.starts_with(' ')) header.remove_prefix(1);
  return header;
}

DType dtype_of(std::string_view header, const std::string& path) {
  std::string_view text = entry(header, "'descr'", path);
  text = text.substr(0, text.find(','));
  for (const TypeInfo& info : all_types())
    if (!info.npy.empty() && text.find(info.npy) != text.npos) return info.type;
  fail(path, ": element type ", printable(text.substr(0, 40)), " is not supported");
}

Dims dims_of(std::string_view header, const std::string& path) {
  std::string_view text = entry(header, "'shape'", path);
  text = text.substr(0, text.find(')'));
  Dims dims;
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    int64_t size = 0;
    auto [after, error] = std::from_chars(at, end, size);
    if (error == std::errc()) {
      check(size >= 0, path, ": a dimension should be 0 or more, is ", size);
      dims.push_back(size);
      at = after;
    } else {
      ++at;
    }
  }
  return dims;
}

}  // namespace

NpyHeader read_npy_header(int64_t size, const std::string& path,
                          const std::function<void(std::span<std::byte>)>& next) {
  constexpr int64_t kLeast = 10, kWide = 12;
  check(size >= kWide, path, ": not a .npy file");
  std::array<std::byte, kWide> first;
  next(std::span(first).first(kLeast));
  check(std::string_view(reinterpret_cast<const char*>(first.data()), kLeast).starts_with(kMagic),
        path, ": not a .npy file");
  const auto byte = [&](std::size_t i) { return static_cast<int64_t>(first[i]); };
  const bool wide = byte(6) > 1;  // from version 2 on, the header's length has four bytes
  if (wide) next(std::span(first).subspan(kLeast));
  NpyHeader header{.start = wide ? kWide : kLeast};
  int64_t length = byte(8) + (byte(9) << 8);
  if (wide) length += (byte(10) << 16) + (byte(11) << 24);
  check(length <= size - header.start, path, ": truncated");
  check(length <= kMostHeader, path, ": a .npy header of ", length, " bytes");
  std::string text(length, '\0');
  next(std::as_writable_bytes(std::span(text)));
  header.start += length;
  check(entry(text, "'fortran_order'", path).starts_with("False"), path,
        ": column-major arrays are not supported; save numpy.ascontiguousarray(x)");
  header.dtype = dtype_of(text, path);
  header.dims = dims_of(text, path);
  const bool empty = std::ranges::find(header.dims, 0) != header.dims.end();
  // Checks sizes before allocating, so that a damaged header cannot cause a huge allocation.
  // Dimensions of an empty array may be large.
  const int64_t most = empty ? std::numeric_limits<int64_t>::max() : size - header.start;
  header.bytes = static_cast<int64_t>(size_of(header.dtype));
  for (int64_t count : header.dims) {
    if (count == 0) continue;
    check(header.bytes <= most / count, path, ": truncated");
    header.bytes *= count;
  }
  check(header.bytes <= most, path, ": truncated");
  if (empty) header.bytes = 0;
  return header;
}

}  // namespace lockstep
