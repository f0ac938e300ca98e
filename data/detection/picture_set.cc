// SPDX-License-Identifier: Apache-2.0
#include "data/detection/picture_set.h"

#include <filesystem>
#include <utility>

#include "data/formats/exif.h"
#include "graph/limits.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

bool fits(const CocoImage& annotated, int64_t height, int64_t width) {
  return height == annotated.height && width == annotated.width;
}

}  // namespace

std::string PictureSet::name_of(std::size_t number) const {
  return join(annotations().path, ": image ", annotations().images[number].id);
}

std::string FilePictures::path_of(std::size_t number) const {
  return (std::filesystem::path(folder_) / annotations_.images[number].file).string();
}

void FilePictures::refuse(std::size_t number, const std::string& why) const {
  fail("image ", annotations_.images[number].id, " of ", annotations_.path, ": ", why);
}

void FilePictures::refuse_size(std::size_t number, int64_t height, int64_t width,
                               const char* note) const {
  const CocoImage& annotated = annotations_.images[number];
  fail(path_of(number), ": ", height, " pixels high and ", width, " wide", note, ", but image ",
       annotated.id, " of ", annotations_.path, " is ", annotated.height, " high and ",
       annotated.width, " wide");
}

Image FilePictures::picture(std::size_t number) const {
  const CocoImage& annotated = annotations_.images[number];
  StoredImage stored;
  try {
    stored = read_stored_image(path_of(number));
  } catch (const NoMemory&) {
    throw;
  } catch (const Error& error) {
    refuse(number, error.what());
  }
  Image& image = stored.image;
  const bool swaps = swaps_sides(stored.orientation);
  const bool fits_stored = fits(annotated, image.height, image.width);
  const bool fits_turned = swaps ? fits(annotated, image.width, image.height) : fits_stored;
  if (!fits_stored && !fits_turned)
    refuse_size(number, image.height, image.width,
                swaps ? " (before its EXIF block turns it)" : "");
  const bool turns = fits_turned && (turned_ || !fits_stored);
  return turned(std::move(image), turns ? stored.orientation : 1);
}

// Accepts swapped sides, because PNG and WebP files may store the orientation behind the pixels.
void FilePictures::look_at_header(std::size_t number) const {
  const CocoImage& annotated = annotations_.images[number];
  PictureHeader header;
  try {
    header = read_picture_header(path_of(number));
  } catch (const NoMemory&) {
    throw;
  } catch (const Error& error) {
    refuse(number, error.what());
  }
  if (!fits(annotated, header.height, header.width) &&
      !fits(annotated, header.width, header.height))
    refuse_size(number, header.height, header.width);
}

Annotations FilePictures::take_annotations() {
  Annotations taken = std::exchange(annotations_, {});
  annotations_.path = taken.path;
  annotations_.images = taken.images;
  return taken;
}

}  // namespace lockstep
