// SPDX-License-Identifier: Apache-2.0
#include "data/npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

#include "graph/booleans.h"
#include "graph/file.h"

namespace lockstep {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

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
  fail(path, ": element type ", text, " is not supported");
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

Literal read_npy(const std::string& path) {
  const std::string text = read_file(path);
  check(text.size() >= 12 && text.starts_with(kMagic), path, ": not a .npy file");
  auto byte = [&](std::size_t i) -> std::size_t { return static_cast<uint8_t>(text[i]); };
  const bool wide = text[6] > 1;  // from version 2 on, the header's length has four bytes
  std::size_t start = wide ? 12 : 10;
  std::size_t length = byte(8) + (byte(9) << 8);
  if (wide) length += (byte(10) << 16) + (byte(11) << 24);
  check(start + length <= text.size(), path, ": truncated");
  const std::string_view header = std::string_view(text).substr(start, length);
  check(entry(header, "'fortran_order'", path).starts_with("False"), path,
        ": column-major arrays are not supported; save numpy.ascontiguousarray(x)");
  const DType dtype = dtype_of(header, path);
  const Dims dims = dims_of(header, path);
  const bool empty = std::ranges::find(dims, 0) != dims.end();
  // Checks sizes before allocating, so that a damaged header cannot cause a huge allocation.
  // Dimensions of an empty array may be large.
  const int64_t most =
      empty ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(text.size());
  int64_t bytes = static_cast<int64_t>(size_of(dtype));
  for (int64_t size : dims) {
    if (size == 0) continue;
    check(bytes <= most / size, path, ": truncated");
    bytes *= size;
  }
  if (empty) bytes = 0;
  check(text.size() - start - length >= static_cast<std::size_t>(bytes), path, ": truncated");
  Literal value(dtype, dims);
  if (bytes > 0) std::memcpy(value.bytes().data(), text.data() + start + length, bytes);
  normalise_booleans(value);
  return value;
}

void write_npy(const std::string& path, const Literal& value) {
  const std::string_view descr = info_of(value.dtype()).npy;
  check(!descr.empty(), path, ": NumPy has no element type for ", value.dtype());
  std::string shape;
  for (int64_t size : value.dims()) shape += std::to_string(size) + ",";
  std::string header =
      join("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", shape, "), }");
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string text(kMagic);
  text += std::string_view("\x01\x00", 2);
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size());
  write_file(path, text);
}

}  // namespace lockstep
