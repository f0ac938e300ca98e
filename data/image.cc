#include "data/image.h"

#include "data/formats/exif.h"
#include "data/formats/formats.h"
#include "graph/error.h"
#include "graph/file.h"
#include "graph/limits.h"

namespace lockstep {
namespace {

void check_size(const PictureHeader& header, const std::string& path) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const int64_t height = header.height, width = header.width;
  const int64_t each = header.bytes_per_pixel + (header.orientation == 1 ? 0 : 3);
  check(height > 0 && width > 0 && height <= kMost / each / width, path, ": a picture of ", width,
        " x ", height, " pixels is too large");
  check_memory(static_cast<std::size_t>(height * width * each), path);
}

}  // namespace

StoredImage read_stored_image(const std::string& path) {
  const PictureFile file{path, read_file(path)};
  const PictureFormat& format = format_of(file);
  const PictureHeader header = format.header(file);
  check_size(header, path);
  return {format.decode(file), header.orientation};
}

Image read_image(const std::string& path) {
  StoredImage stored = read_stored_image(path);
  return turned(std::move(stored.image), stored.orientation);
}

}  // namespace lockstep
