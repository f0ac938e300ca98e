// SPDX-License-Identifier: Apache-2.0
// The data sets of pictures with masks: image_masks, from files, and drawn_shapes, generated.
#include "app/arrays/masked_source.h"

#include "app/arrays/example_source.h"
#include "app/arrays/fed_names.h"
#include "app/arrays/named_values.h"
#include "app/arrays/picture_prediction.h"
#include "data/masked_images.h"

namespace lockstep {
namespace {

constexpr const char *kImageSizeKey = "DATA.IMAGE_SIZE", *kClassesKey = "MODEL.NUM_CLASSES";

bool is_mask_type(DType dtype) {
  return dtype == DType::undefined || dtype == DType::int64 || dtype == DType::int32 ||
         dtype == DType::uint8 || dtype == DType::float32;
}

std::string text_of_fed(const FedArray& fed) {
  const std::string type = fed.dtype == DType::undefined ? "any type" : join(fed.dtype);
  return fed.dims ? join(type, *fed.dims) : type;
}

MaskedFeed masked_feed(const FedArray& fed, const std::string& source, int64_t side) {
  MaskedFeed feed{.name = fed.name, .is_mask = source == kMaskTensor};
  check(feed.is_mask || source == kImageTensor, Key{"DATA.SOURCES"},
        ": the pictures with masks are `", kImageTensor, "` and `", kMaskTensor, "`, but '",
        fed.name, "' is fed '", source, "'; say which it is: {", fed.name, ": ", kImageTensor, "}");
  if (!feed.is_mask) {
    check(fed.dtype == DType::float32 || fed.dtype == DType::undefined, "the network takes ",
          fed.dtype, " for '", fed.name, "', but a picture is float32");
    check(dims_fit(fed.dims, {3, side, side}), Key{kImageSizeKey}, " ", side, " makes pictures ",
          Dims{3, side, side}, ", but '", fed.name, "' is ", text_of_fed(fed));
    return feed;
  }
  check(is_mask_type(fed.dtype), "the network takes ", fed.dtype, " for '", fed.name,
        "', but a mask is int64, int32, uint8 or float32");
  if (fed.dtype != DType::undefined) feed.dtype = fed.dtype;
  feed.channel = !dims_fit(fed.dims, {side, side});
  check(!feed.channel || dims_fit(fed.dims, {1, side, side}), Key{kImageSizeKey}, " ", side,
        " makes masks ", Dims{side, side}, ", but '", fed.name, "' is ", text_of_fed(fed));
  return feed;
}

class MaskedExamples final : public ExampleSet {
 public:
  MaskedExamples(std::unique_ptr<MaskedImages> images, std::vector<MaskedFeed> feeds)
      : images_(std::move(images)), feeds_(std::move(feeds)) {}

  int64_t size() const override { return images_->size(); }
  std::string digest() const override { return images_->digest(); }
  std::string description() const override {
    const Preparation& made = images_->preparation();
    return join("pictures of ", made.width, " x ", made.height, " pixels with masks");
  }
  std::vector<MinibatchForm> forms(int64_t count) const override {
    MinibatchForm form;
    for (const MaskedFeed& feed : feeds_)
      form.push_back({feed.name, feed.desc(images_->preparation(), count)});
    return {form};
  }
  void read(int64_t example, int64_t row, std::span<const Tensor> tensors) const override {
    write_masked(*images_, example, static_cast<uint64_t>(example), row, feeds_, tensors);
  }
  std::unique_ptr<MinibatchSource> minibatches(const ExampleBatches& options) const override {
    return std::make_unique<MaskedImageBatches>(*images_,
                                                MaskedBatchOptions{.batch = options.batch,
                                                                   .first = options.first,
                                                                   .count = options.count,
                                                                   .seed = options.seed,
                                                                   .shuffle = options.shuffle,
                                                                   .feeds = feeds_});
  }
  std::string name_of(int64_t example) const override { return images_->name_of(example); }
  std::optional<Preparation> preparation() const override { return images_->preparation(); }

 private:
  std::unique_ptr<MaskedImages> images_;
  std::vector<MaskedFeed> feeds_;
};

MaskedImageOptions masked_options(const ArraysConfig& config, bool held_out) {
  return {.root = config.data_root,
          .held_out = held_out,
          .seed = static_cast<uint64_t>(config.seed),
          .image_size = config.image_size,
          .resize = config.resize,
          .scale = {config.crop_scale.at(0), config.crop_scale.at(1)},
          .flip = config.flip,
          .classes = config.classes,
          .size = held_out ? config.test_size : config.train_size};
}

template <std::unique_ptr<MaskedImages> (*make)(const MaskedImageOptions&)>
std::unique_ptr<ExampleSet> open_masked(const ArraysConfig& config, bool held_out,
                                        const std::vector<FedArray>& fed) {
  const auto sources = texts_of(config.sources);
  std::vector<MaskedFeed> feeds;
  for (const FedArray& array : fed)
    feeds.push_back(
        masked_feed(array, value_or(sources, array.name, array.name), config.image_size));
  return std::make_unique<MaskedExamples>(make(masked_options(config, held_out)), std::move(feeds));
}

void check_image_masks(const ArraysConfig& config) {
  check(!config.data_root.empty(), Key{"DATA.ROOT"},
        " names no folder; it should hold train/images, train/masks, and val/ or test/ alike");
  check(config.resize >= config.image_size, Key{"DATA.RESIZE"}, " is ", config.resize, ", but ",
        Key{kImageSizeKey}, " is ", config.image_size, ", which is the part that remains");
  const auto& scale = config.crop_scale;
  check(scale.size() == 2 && 0 < scale[0] && scale[0] <= scale[1] && scale[1] <= 1,
        Key{"DATA.CROP_SCALE"},
        " should be two ascending fractions of a picture, such as [0.25, 1]");
}

void check_drawn_shapes(const ArraysConfig& config) {
  check(config.classes == 0 || config.classes >= kClassesOfShapes, Key{kClassesKey}, " is ",
        config.classes, ", but drawn shapes have ", kClassesOfShapes,
        " classes with the background");
}

std::string place_of_masks(const ArraysConfig& config, bool) { return config.data_root; }

std::string place_of_shapes(const ArraysConfig&, bool) { return "drawn shapes"; }

}  // namespace

std::map<std::string, double> mask_limits_of(const ArraysConfig& config) {
  const auto sources = texts_of(config.sources);
  const auto is_mask = [&](const std::string& target) {
    return value_or(sources, target, target) == kMaskTensor;
  };
  std::map<std::string, double> scores;
  for (const LossTerm& term : config.loss_terms())
    if (term.kind && is_mask(term.target)) scores[term.prediction] = 0;
  for (const Metric& metric : config.test_metrics())
    if (is_mask(metric.target)) scores[metric.output] = metric.options.above.value_or(0);
  return scores;
}

ExampleSource image_masks_source() {
  return {.name = "image_masks",
          .meaning =
              "pictures ROOT/train/images/NAME.jpg with a class for each pixel in "
              "ROOT/train/masks/NAME.png, grey or with a palette, 255 for no class; held-out "
              "ones in ROOT/val or ROOT/test",
          .keys = {kClassesKey, "DATA.ROOT", kImageSizeKey, "DATA.RESIZE", "DATA.CROP_SCALE",
                   "DATA.FLIP"},
          .train = {"DATA.ROOT", "the pictures of DATA.ROOT"},
          .test = {"DATA.ROOT", "the held-out pictures of DATA.ROOT"},
          .has_pictures = true,
          .check = check_image_masks,
          .place = place_of_masks,
          .open = open_masked<image_masks>,
          .infer = predict_pictures};
}

ExampleSource drawn_shapes_source() {
  return {.name = "drawn_shapes",
          .meaning = "generated discs, squares and triangles, classes 1 to 3, with masks",
          .keys = {kClassesKey, kImageSizeKey, "DATA.TRAIN_SIZE", "DATA.TEST_SIZE"},
          .train = {"DATA.TRAIN_SIZE", ""},
          .test = {"DATA.TEST_SIZE", ""},
          .has_pictures = true,
          .check = check_drawn_shapes,
          .place = place_of_shapes,
          .open = open_masked<drawn_shapes>,
          .infer = predict_pictures};
}

}  // namespace lockstep
