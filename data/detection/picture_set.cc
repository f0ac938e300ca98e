#include "data/detection/picture_set.h"

#include <filesystem>
#include <utility>

#include "data/formats/exif.h"
#include "graph/error.h"
#include "graph/limits.h"

namespace lockstep {

std::string PictureSet::name_of(std::size_t number) const {
  return join(annotations().path, ": image ", annotations().images[number].id);
}

std::string FilePictures::path_of(std::size_t number) const {
  return (std::filesystem::path(folder_) / annotations_.images[number].file).string();
}

void FilePictures::refuse(std::size_t number, const std::string& why) const {
  fail("image ", annotations_.images[number].id, " of ", annotations_.path, ": ", why);
}

Image FilePictures::picture(std::size_t number) const {
  const CocoImage& annotated = annotations_.images[number];
  const std::string path = path_of(number);
  StoredImage stored;
  try {
    stored = read_stored_image(path);
  } catch (const NoMemory&) {
    throw;
  } catch (const Error& error) {
    refuse(number, error.what());
  }
  const auto fits = [&](int64_t height, int64_t width) {
    return height == annotated.height && width == annotated.width;
  };
  Image& image = stored.image;
  const bool swaps = swaps_sides(stored.orientation);
  const bool fits_stored = fits(image.height, image.width);
  const bool fits_turned = swaps ? fits(image.width, image.height) : fits_stored;
  check(fits_stored || fits_turned, path, ": ", image.height, " pixels high and ", image.width,
        " wide", swaps ? " (before its EXIF block turns it)" : "", ", but image ", annotated.id,
        " of ", annotations_.path, " is ", annotated.height, " high and ", annotated.width,
        " wide");
  const bool turns = fits_turned && (turned_ || !fits_stored);
  return turned(std::move(image), turns ? stored.orientation : 1);
}

// A WebP file may say behind its pixels that it lies on its side.
void FilePictures::look_at_header(std::size_t number) const {
  const CocoImage& annotated = annotations_.images[number];
  const std::string path = path_of(number);
  PictureHeader header;
  try {
    header = read_picture_header(path);
  } catch (const Error& error) {
    refuse(number, error.what());
  }
  const auto fits = [&](int64_t height, int64_t width) {
    return height == annotated.height && width == annotated.width;
  };
  check(fits(header.height, header.width) || fits(header.width, header.height), path, ": ",
        header.height, " pixels high and ", header.width, " wide, but image ", annotated.id, " of ",
        annotations_.path, " is ", annotated.height, " high and ", annotated.width, " wide");
}

Annotations FilePictures::take_annotations() {
  Annotations taken = std::exchange(annotations_, {});
  annotations_.path = taken.path;
  annotations_.images = taken.images;
  return taken;
}

}  // namespace lockstep
