#include "data/detection/picture_set.h"

#include <filesystem>
#include <utility>

#include "graph/error.h"

namespace lockstep {

std::string PictureSet::name_of(std::size_t number) const {
  return join(annotations().path, ": image ", annotations().images[number].id);
}

Image FilePictures::picture(std::size_t number) const {
  const CocoImage& annotated = annotations_.images[number];
  const std::string path = (std::filesystem::path(folder_) / annotated.file).string();
  Image image;
  try {
    image = read_image(path);
  } catch (const Error& error) {
    fail("image ", annotated.id, " of ", annotations_.path, ": ", error.what());
  }
  check(image.height == annotated.height && image.width == annotated.width, path, ": ",
        image.height, " pixels high and ", image.width, " wide, but image ", annotated.id, " of ",
        annotations_.path, " is ", annotated.height, " high and ", annotated.width, " wide");
  return image;
}

Annotations FilePictures::take_annotations() {
  Annotations taken = std::exchange(annotations_, {});
  annotations_.path = taken.path;
  annotations_.images = taken.images;
  return taken;
}

}  // namespace lockstep
