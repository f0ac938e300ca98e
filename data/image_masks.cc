// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "data/formats/png.h"
#include "data/image.h"
#include "data/long_digest.h"
#include "data/masked_images.h"
#include "data/picture_folder.h"
#include "data/streams.h"
#include "graph/file.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

struct MaskedFile {
  std::string image, mask;
};

Preparation preparation_of_masked(const MaskedImageOptions& options) {
  return image_net_preparation(options.image_size, options.resize);
}

// The folder of the pictures; held-out ones are in val/ or in test/.
std::filesystem::path folder_of_masked(const MaskedImageOptions& options) {
  namespace fs = std::filesystem;
  check(!options.root.empty(), "DATA.ROOT is empty; it should name the folder that holds train/");
  const fs::path root(options.root);
  if (!options.held_out) return root / "train";
  return fs::is_directory(root / "val") || !fs::is_directory(root / "test") ? root / "val"
                                                                            : root / "test";
}

std::map<std::string, std::string> files_by_stem(const std::filesystem::path& folder) {
  check(std::filesystem::is_directory(folder), "DATA.ROOT: there is no folder '", folder.string(),
        "'");
  std::map<std::string, std::string> files;
  for (const std::filesystem::path& file : content_of(folder).pictures) {
    const auto [entry, is_new] = files.emplace(file.stem().string(), file.string());
    check(is_new, "'", entry->second, "' and '", file.string(), "' have the same name");
  }
  check(!files.empty(), "'", folder.string(), "' contains no pictures");
  return files;
}

std::vector<MaskedFile> masked_files(const std::filesystem::path& folder) {
  const auto images = files_by_stem(folder / "images"), masks = files_by_stem(folder / "masks");
  std::vector<MaskedFile> files;
  for (const auto& [stem, image] : images) {
    const auto mask = masks.find(stem);
    check(mask != masks.end(), "'", image, "' has no mask '",
          (folder / "masks" / (stem + ".png")).string(), "'");
    files.push_back({image, mask->second});
  }
  for (const auto& [stem, mask] : masks)
    check(images.contains(stem), "the mask '", mask, "' has no picture in '",
          (folder / "images").string(), "'");
  return files;
}

class ImageMasks final : public MaskedImages {
 public:
  explicit ImageMasks(const MaskedImageOptions& options)
      : MaskedImages(preparation_of_masked(options)),
        options_(options),
        files_(masked_files(folder_of_masked(options))) {
    check(options.image_size > 0 && options.resize >= options.image_size, "DATA.IMAGE_SIZE is ",
          options.image_size, ", but DATA.RESIZE is ", options.resize,
          ", which should not be less");
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }

  void read(int64_t index, uint64_t draw, float* image, int64_t* mask) const override {
    const MaskedFile& file = files_[index];
    const auto [picture, orientation] = read_stored_image(file.image);
    check(
        orientation == 1, file.image, ": EXIF turns the picture (orientation ", orientation,
        "), but not its mask; store the pixels upright (mogrify -auto-orient), or remove the tag");
    const PngValues values = decode_png_values({file.mask, read_file(file.mask)});
    check(picture.height == values.height && picture.width == values.width, file.mask,
          ": the mask has ", values.width, " x ", values.height, " pixels, but its picture has ",
          picture.width, " x ", picture.height, " (width x height)");
    Region region = central_region(picture, preparation());
    bool mirror = false;
    if (!options_.held_out) {
      PhiloxSequence random(options_.seed, streams::kCrops | draw);
      region = random_region(picture.height, picture.width, options_.scale, random);
      mirror = options_.flip && random.below(2) == 1;
    }
    prepare(picture, preparation(), region, mirror, image);
    resample_mask(values, region, mirror, file.mask, mask);
  }

  std::string name_of(int64_t index) const override {
    return std::filesystem::path(files_[index].image).filename().string();
  }

  // Digests names and sizes of the files, not their pixels.
  std::string digest() const override {
    LongDigest all;
    for (const MaskedFile& file : files_)
      for (const std::string& path : {file.image, file.mask}) {
        const std::string name = std::filesystem::path(path).filename().string();
        all.add_list(std::span(name));
        all.add(uint64_t{std::filesystem::file_size(path)});
      }
    return join(size(), " pictures with masks, ", all.text());
  }

 private:
  // Takes the pixel below the centre of each result pixel.
  void resample_mask(const PngValues& values, const Region& region, bool mirror,
                     const std::string& path, int64_t* mask) const {
    const int64_t side = options_.image_size;
    const auto place = [&](double start, double length, int64_t i, int64_t size) {
      const double centre = start + (static_cast<double>(i) + 0.5) * length / side;
      return std::clamp<int64_t>(static_cast<int64_t>(std::floor(centre)), 0, size - 1);
    };
    for (int64_t y = 0; y < side; ++y) {
      const int64_t row = place(region.top, region.height, y, values.height);
      for (int64_t x = 0; x < side; ++x) {
        const int64_t column =
            place(region.left, region.width, mirror ? side - 1 - x : x, values.width);
        const int64_t value = values.values[row * values.width + column];
        if (value != kIgnoredPixel && options_.classes > 0 && value >= options_.classes)
          fail(path, ": pixel ", column, " of row ", row, " has class ", value, ", but there are ",
               options_.classes, " classes, and 255 for no class");
        *mask++ = value;
      }
    }
  }

  MaskedImageOptions options_;
  std::vector<MaskedFile> files_;
};

}  // namespace

std::unique_ptr<MaskedImages> image_masks(const MaskedImageOptions& options) {
  return std::make_unique<ImageMasks>(options);
}

}  // namespace lockstep
