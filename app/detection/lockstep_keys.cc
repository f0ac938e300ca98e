// SPDX-License-Identifier: Apache-2.0
// The keys that Detectron does not have.
#include "app/detection/key_tables.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int64_t kMostOfASide = 1 << 16;

// Parses "800x1344". An empty text means: by TRAIN.SCALES and MAX_SIZE.
DetectionShape parse_image(DetectionShape shape, const std::string& text) {
  shape.height = shape.width = 0;
  if (text.empty()) return shape;
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
  shape.height = side(text.substr(0, cross));
  shape.width = side(text.substr(cross + 1));
  return shape;
}

std::string text_of_image(const DetectionShape& shape) {
  return shape.height == 0 ? "" : join(shape.height, "x", shape.width);
}

}  // namespace

ConfigKeys own_detector_keys(DetectorConfig& c) {
  DetectionShape& shape = c.network.shape;
  ConfigKeys own = joined(
      {{{"IMAGE",
         parsed(
             shape, [&shape](const std::string& text) { return parse_image(shape, text); },
             text_of_image),
         "detectors: height and width of the input, such as 800x1344; empty: the largest that "
         "TRAIN.SCALES and MAX_SIZE allow",
         {.flag = "--image", .remembered = true}}},
       keys_of(c.run),
       {{"RESNETS.STEM_OUT_CHANNELS", &c.network.resnets.stem_out_channels, "channels of the stem",
         at_least(1)},
        {"RESNETS.RES2_OUT_CHANNELS", &c.network.resnets.res2_out_channels,
         "channels of the first stage; default with basic blocks: 64", at_least(1)},
        {"TRAIN.TRUE_BOXES",
         &shape.true_boxes,
         "number of slots for the true boxes of an image; default in training: the number that the "
         "fullest image needs",
         {.least = 1, .most = 65536}},
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
