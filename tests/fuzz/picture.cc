#include <cstdlib>

#include "data/image.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/readers.h"
#include "tests/support/pictures.h"

namespace lockstep::fuzz {

void read_picture(const std::string& bytes) {
  const MemoryFile file(bytes);
  const Image image = read_image(file.path());
  // What callers take for granted.
  if (image.height <= 0 || image.width <= 0 ||
      image.rgb.size() != static_cast<std::size_t>(3 * image.height * image.width))
    std::abort();
}

Seeds picture_seeds() {
  Seeds seeds;
  for (const auto& [height, width] : {std::pair{1, 1}, {3, 5}, {17, 9}}) {
    const Image image = testing::gradient_image(height, width);
    seeds.push_back(written([&](const std::string& path) { testing::write_png(path, image); }));
    for (bool grey : {false, true})
      seeds.push_back(
          written([&](const std::string& path) { testing::write_jpeg(path, image, grey); }));
  }
  return seeds;
}

}  // namespace lockstep::fuzz
