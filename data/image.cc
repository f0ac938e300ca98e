// SPDX-License-Identifier: Apache-2.0
#include "data/image.h"

#include <optional>

#include "data/formats/exif.h"
#include "data/formats/formats.h"
#include "graph/file.h"
#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

int64_t bytes_of_pixel(const PictureHeader& header) {
  return header.bytes_per_pixel + (header.orientation == 1 ? 0 : 3);
}

void check_size(const PictureHeader& header, const std::string& path) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const int64_t height = header.height, width = header.width;
  check(height > 0 && width > 0 && height <= kMost / bytes_of_pixel(header) / width, path,
        ": a picture of ", width, " x ", height, " pixels is too large");
}

PictureHeader checked_header(const PictureFile& file) {
  const PictureHeader header = format_of(file).header(file);
  check_size(header, file.path);
  return header;
}

// The header, or nothing if the bytes are only the start of the file and the header looks damaged,
// because the header may be longer than `start`.
std::optional<PictureHeader> header_in(const PictureFile& start, bool is_whole) {
  const PictureFormat& format = format_of(start);
  try {
    return format.header(start);
  } catch (const NoMemory&) {
    throw;
  } catch (const Error&) {
    if (is_whole) throw;
    return std::nullopt;
  }
}

}  // namespace

PictureHeader read_picture_header(const std::string& path) {
  constexpr std::size_t kMostOfHeaders = std::size_t{64} << 10,
                        kMostOfLongOnes = 16 * kMostOfHeaders;
  for (const std::size_t most : {kMostOfHeaders, kMostOfLongOnes}) {
    const PictureFile start{path, read_file_start(path, most)};
    if (const auto header = header_in(start, start.bytes.size() < most)) {
      check_size(*header, path);
      return *header;
    }
  }
  return checked_header({path, read_file(path)});
}

StoredImage read_stored_image(const std::string& path) {
  const PictureFile file{path, read_file(path)};
  const PictureHeader header = checked_header(file);
  check_memory(header.height * header.width * bytes_of_pixel(header), path);
  return {format_of(file).decode(file), header.orientation};
}

Image read_image(const std::string& path) {
  StoredImage stored = read_stored_image(path);
  return turned(std::move(stored.image), stored.orientation);
}

}  // namespace lockstep
