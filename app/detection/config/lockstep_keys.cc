// SPDX-License-Identifier: Apache-2.0
// The keys that Detectron does not have.
#include "app/detection/config/key_tables.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kMostOfASide = 1 << 16;

struct KeySize {
  int64_t height = 0, width = 0;
};

// Parses "800x1344"; an empty text is 0 x 0.
KeySize parse_size(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t cross = text.find('x');
  const auto side = [&](const std::string& digits) {
    check(!digits.empty() && digits.size() < 10 &&
              digits.find_first_not_of("0123456789") == digits.npos,
          "'", text, "' should be HEIGHTxWIDTH: 800x1344");
    const int64_t value = std::stoll(digits);
    check(value >= 1 && value <= kMostOfASide, "'", text, "': a side should be from 1 to ",
          kMostOfASide);
    return value;
  };
  check(cross != text.npos, "'", text, "' should be HEIGHTxWIDTH: 800x1344");
  return {side(text.substr(0, cross)), side(text.substr(cross + 1))};
}

// Sets the height and the width of `sized`, and keeps the rest.
template <class Sized>
Sized with_size(Sized sized, const std::string& text) {
  const KeySize size = parse_size(text);
  sized.height = size.height;
  sized.width = size.width;
  return sized;
}

template <class Sized>
std::string text_of_size(const Sized& sized) {
  return sized.height == 0 ? "" : join(sized.height, "x", sized.width);
}

}  // namespace

ConfigKeys own_detector_keys(DetectorConfig& c) {
  DetectionShape& shape = c.network.shape;
  ConfigKeys own = joined(
      {{{"IMAGE",
         parsed(
             shape, [&shape](const std::string& text) { return with_size(shape, text); },
             text_of_size<DetectionShape>),
         "detectors: height and width of the input, such as 800x1344; empty: the largest that "
         "TRAIN.SCALES and MAX_SIZE allow",
         {.flag = "--image", .remembered = true}}},
       keys_of(c.run),
       {{"RESNETS.STEM_OUT_CHANNELS", &c.network.resnets.stem_out_channels, "channels of the stem",
         at_least(1)},
        {"RESNETS.RES2_OUT_CHANNELS", &c.network.resnets.res2_out_channels,
         "channels of the first stage; default with basic blocks: 64", at_least(1)},
        {"RFCN.REDUCED_CHANNELS", &c.network.rfcn.reduced_channels,
         "channels of a convolution before the maps of R-FCN; 0: no such convolution", at_least(0)},
        {"VGG.CHANNEL_DIVISOR",
         &c.network.vgg.channel_divisor,
         "divides the channels of a VGG body and the widths of a VGG head",
         {.least = 1, .most = 64}},
        {"TRAIN.TRUE_BOXES",
         &shape.true_boxes,
         "number of slots for the true boxes of an image; default in training: the number that the "
         "fullest image needs",
         {.least = 1, .most = 65536}},
        {"TRAIN.VERTICES",
         &shape.vertices,
         "number of slots for the vertices of an image's outlines, with MODEL.MASK_ON; default in "
         "training: the number that the image with the longest outlines needs",
         {.least = 1, .most = 1 << 26}},
        {"TRAIN.PROPOSALS", &shape.proposals,
         "number of slots for proposals from files; default: TRAIN.RPN_POST_NMS_TOP_N",
         at_least(1)},
        {"TRAIN.SHAPES",
         &c.train.shapes,
         "largest number of sizes that pictures are padded to, each with its own graph; 0: 6, "
         "or 12 with several TRAIN.SCALES",
         {.least = 0, .most = 64, .remembered = true}},
        {"TRAIN.SKIP_BAD_IMAGES", &c.train.skip_bad_images,
         "if a picture cannot be read, train on another or leave it out of a test, and name it; "
         "false: stop the run"},
        {"TRAIN.EMPTY_IMAGES",
         &c.train.empty_images,
         "also train on pictures without any object, as background; false: leave them out",
         {.remembered = true}},
        {"TRAIN.SCALE_PER_IMAGE",
         &c.train.scale_per_image,
         "each image of a step draws its length from TRAIN.SCALES, as in Detectron, and the step "
         "is "
         "padded to the largest; false: one length for all images of a step, with less padding",
         {.remembered = true}},
        {"TRAIN.JITTER.SIZE",
         parsed(
             c.train.jitter,
             [&c](const std::string& text) { return with_size(c.train.jitter, text); },
             text_of_size<LargeJitter>),
         "large-scale jitter: height and width of the images of all steps, such as 1024x1024; each "
         "image is scaled at random, then cropped or padded to this size. Empty: no jitter",
         {.remembered = true}},
        {"TRAIN.JITTER.RATIOS",
         &c.train.jitter.ratios,
         "the smallest and the largest size of a jittered image, as factors of TRAIN.JITTER.SIZE",
         {.least = 0.01, .most = 16, .remembered = true}},
        {"TEST.LOSS", &c.test.loss,
         "tests during training also compute the losses of training on the held-out pictures"},
        {"TRAIN.FREEZE_RANDOM", &c.train.freeze_random,
         "frozen parts of the body may have random values, if no weights are given"},
        {"TRAIN.WEIGHTS_MUST_AGREE", &c.train.weights_must_agree,
         "refuse weights whose source has another body, other means, strides, dilation or norms "
         "than the configuration"},
        {"TRAIN.WEIGHTS_MOMENTUM", &c.train.weights_momentum,
         "also take the momentum that TRAIN.WEIGHTS has"},
        {"TRAIN.SHARED_NORMALISERS", &c.network.train.shared_normalisers,
         "losses are divided by the numbers of objects and samples on all replicas, instead of "
         "each replica's own"},
        {"SOLVER.SCALE_TO_BATCH", &c.scale_to_batch,
         "adapt learning rates and iterations to the images of a step if their number is not the "
         "file's NUM_GPUS x TRAIN.IMS_PER_BATCH"}},
       loop_keys(c),
       solver_keys(c),
       keys_of(c.step)});
  return own;
}

}  // namespace lockstep
