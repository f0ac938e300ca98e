// SPDX-License-Identifier: Apache-2.0
#include "tests/support/zip_files.h"

#include <zlib.h>

#include "data/npy.h"
#include "graph/file.h"
#include "tests/support/temporary_folder.h"

namespace lockstep::testing {
namespace {

std::string zip_number(uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return bytes;
}

std::string zip_deflated(const std::string& data) {
  z_stream stream = {};
  check(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflate");
  std::string packed(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = data.size();
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = packed.size();
  check(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members, bool deflate) {
  std::string file, directory;
  for (const auto& [name, data] : members) {
    const std::string packed = deflate ? zip_deflated(data) : data;
    const uint64_t crc = crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size());
    // Version, flags, method, time, date, checksum, sizes, length of the name, no extra field.
    const std::string facts =
        zip_number(20, 2) + zip_number(0, 2) + zip_number(deflate ? 8 : 0, 2) + zip_number(0, 4) +
        zip_number(crc, 4) + zip_number(packed.size(), 4) + zip_number(data.size(), 4) +
        zip_number(name.size(), 2) + zip_number(0, 2);
    directory +=
        "PK\x01\x02" + zip_number(20, 2) + facts + zip_number(0, 10) + zip_number(file.size(), 4);
    directory += name;
    file += "PK\x03\x04" + facts + name + packed;
  }
  const std::string count = zip_number(members.size(), 2);
  const std::string end = "PK\x05\x06" + zip_number(0, 4) + count + count +
                          zip_number(directory.size(), 4) + zip_number(file.size(), 4) +
                          zip_number(0, 2);
  return file + directory + end;
}

std::string npz_of(const std::vector<std::pair<std::string, Literal>>& arrays, bool deflate) {
  const TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, array] : arrays) {
    write_npy(folder / "array.npy", array);
    members.emplace_back(name + ".npy", read_file(folder / "array.npy"));
  }
  return zip_of(members, deflate);
}

}  // namespace lockstep::testing
