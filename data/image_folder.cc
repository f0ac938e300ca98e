// SPDX-License-Identifier: Apache-2.0
#include "data/image_folder.h"

#include <algorithm>
#include <filesystem>

#include "data/formats/formats.h"
#include "data/long_digest.h"
#include "data/streams.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

// The names of classes, which are the folders of train/, also for images of val/.
std::vector<std::string> classes_in(const fs::path& train) {
  check(fs::is_directory(train), "DATA.ROOT: there is no folder '", train.string(),
        "'; it should hold a folder of pictures for each class");
  std::vector<std::string> names;
  for (const fs::path& of_class : content_of(train).folders)
    names.push_back(of_class.filename().string());
  check(!names.empty(), "'", train.string(), "' contains no folder of pictures");
  return names;
}

}  // namespace

Preparation image_folder_preparation(const DatasetOptions& options) {
  return image_net_preparation(options.image_size, options.resize);
}

ImageFolder::ImageFolder(const DatasetOptions& options)
    : Dataset(image_folder_preparation(options)), options_(options) {
  check(!options.root.empty(),
        "DATA.ROOT is empty; it should name the folder that holds train/ and val/");
  const fs::path train = fs::path(options.root) / "train";
  class_names_ = classes_in(train);
  const fs::path folder = options.held_out ? fs::path(options.root) / "val" : train;
  check(fs::is_directory(folder), "DATA.ROOT: there is no folder '", folder.string(),
        "'; it should hold pictures of the classes of '", train.string(), "'");
  check(options.image_size > 0 && options.resize >= options.image_size, "DATA.IMAGE_SIZE is ",
        options.image_size, ", but DATA.RESIZE is ", options.resize, ", which should not be less");
  const FolderContent classes = content_of(folder);
  left_out_.beside = static_cast<int64_t>(classes.pictures.size()) + classes.left_out.total();
  for (const fs::path& of_class : classes.folders) {
    const std::string name = of_class.filename().string();
    const auto known = std::lower_bound(class_names_.begin(), class_names_.end(), name);
    check(known != class_names_.end() && *known == name, "'", of_class.string(),
          "' does not match a class of '", train.string(), "'");
    FolderContent content = content_of(of_class);
    for (const fs::path& below : content.folders) {
      const PicturesBelow nested = pictures_below(below);
      content.left_out.below +=
          static_cast<int64_t>(nested.pictures.size()) + nested.left_out.total();
    }
    const std::string left_out = content.left_out.text();
    check(!content.pictures.empty(), "'", of_class.string(), "' contains no ",
          picture_endings("or"), " file", left_out.empty() ? "" : "; left out " + left_out);
    for (const fs::path& file : content.pictures)
      files_.push_back({file.string(), known - class_names_.begin()});
    left_out_.add(content.left_out);
    ++classes_with_images_;
  }
  check(!files_.empty(), "'", folder.string(), "' contains no folder of pictures");
  folder_ = folder.string();
}

std::string ImageFolder::left_out() const {
  const std::string text = left_out_.text();
  return text.empty() ? "" : join("left out of '", folder_, "': ", text);
}

std::string ImageFolder::digest() const {
  LongDigest all;
  for (const std::string& name : class_names_) all.add_list(std::span(name));
  for (const File& file : files_) {
    all.add(file.label);
    const std::string name = fs::path(file.path).filename().string();
    all.add_list(std::span(name));
  }
  return join(files_.size(), " pictures, ", all.text());
}

void ImageFolder::read(int64_t index, uint64_t draw, float* image, int64_t* label) const {
  read_as(index, draw, image, label);
}

void ImageFolder::read_bytes(int64_t index, uint64_t draw, uint8_t* image, int64_t* label) const {
  read_as(index, draw, image, label);
}

template <class T>
void ImageFolder::read_as(int64_t index, uint64_t draw, T* image, int64_t* label) const {
  const File& file = files_[index];
  const Image picture = read_image(file.path);
  if (options_.held_out) {
    prepare(picture, preparation(), image);
  } else {
    PhiloxSequence random(options_.seed, streams::kCrops | draw);
    const Region region = random_region(picture.height, picture.width, options_.scale, random);
    const bool mirror = options_.flip && random.below(2) == 1;
    prepare(picture, preparation(), region, mirror, image);
  }
  *label = file.label;
}

}  // namespace lockstep
