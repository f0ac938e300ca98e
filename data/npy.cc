// SPDX-License-Identifier: Apache-2.0
#include "data/npy.h"

#include <cstring>
#include <string_view>

#include "data/npy_header.h"
#include "graph/booleans.h"
#include "graph/file.h"

namespace lockstep {

Literal read_npy(const std::string& path) {
  const std::string text = read_file(path);
  std::string_view left = text;
  const NpyHeader header =
      read_npy_header(static_cast<int64_t>(text.size()), path, [&](std::span<std::byte> bytes) {
        std::memcpy(bytes.data(), left.data(), bytes.size());
        left.remove_prefix(bytes.size());
      });
  Literal value(header.dtype, header.dims);
  if (header.bytes > 0) std::memcpy(value.bytes().data(), text.data() + header.start, header.bytes);
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
  std::string text("\x93NUMPY");
  text += std::string_view("\x01\x00", 2);
  text += static_cast<char>(header.size() & 0xFF);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size());
  write_file(path, text);
}

}  // namespace lockstep
