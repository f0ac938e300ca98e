#include "data/image.h"

#include "data/formats/formats.h"
#include "graph/error.h"
#include "graph/file.h"
#include "graph/limits.h"

namespace lockstep {
namespace {

void check_size(const PictureHeader& header, const std::string& path) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const auto& [height, width, each] = header;
  check(height > 0 && width > 0 && height <= kMost / each / width, path, ": a picture of ", width,
        " x ", height, " pixels is too large");
  check_memory(static_cast<std::size_t>(height * width * each), path);
}

}  // namespace

Image read_image(const std::string& path) {
  const PictureFile file{path, read_file(path)};
  const PictureFormat& format = format_of(file);
  check_size(format.header(file), path);
  return format.decode(file);
}

}  // namespace lockstep
