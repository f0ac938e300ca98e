// Keys that lie in no section; and what is ours.
#include <algorithm>

#include "graph/graph.h"
#include "graph/nearest.h"
#include "tools/detection/key_tables.h"

namespace lockstep {
namespace {

constexpr int64_t kMostOfASide = 1 << 16;

// "800x1344"; empty: by TRAIN.SCALES and MAX_SIZE.
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

ConfigKeys unused_keys(UnusedDetectronKeys& c) {
  const KeyFacts facts = unused_key();
  return {
      {"MODEL.EXECUTION_TYPE", &c.execution_type, "the plan decides the order of execution", facts},
      {"USE_NCCL", &c.use_nccl, "ALL_REDUCE chooses the algorithm", facts},
      {"MEMONGER", &c.memonger, "plans always share memory", facts},
      {"MEMONGER_SHARE_ACTIVATIONS", &c.memonger_share_activations, "plans always share memory",
       facts},
      {"EPS", &c.eps, "Detectron never reads it", facts},
      {"ROOT_DIR", &c.root_dir, "folder of Detectron's code", facts},
      {"MATLAB", &c.matlab, "MATLAB command for the scores of Pascal VOC", facts},
      {"VIS", &c.vis, "draw detections during a test", facts},
      {"VIS_TH", &c.vis_th, "smallest score of a drawn detection", facts},
      {"EXPECTED_RESULTS", &c.expected_results, "expected results of Detectron's own tests", facts},
      {"EXPECTED_RESULTS_RTOL", &c.expected_results_rtol, "tolerance of EXPECTED_RESULTS", facts},
      {"EXPECTED_RESULTS_ATOL", &c.expected_results_atol, "tolerance of EXPECTED_RESULTS", facts},
      {"EXPECTED_RESULTS_SIGMA_TOL", &c.expected_results_sigma_tol, "tolerance of EXPECTED_RESULTS",
       facts},
      {"EXPECTED_RESULTS_EMAIL", &c.expected_results_email, "address for reports of failed tests",
       facts},
      {"DOWNLOAD_CACHE", &c.download_cache, "folder of downloaded files", facts},
      {"CLUSTER.ON_CLUSTER", &c.on_cluster, "run on the cluster of Detectron's authors", facts}};
}

}  // namespace

ParsedText one_of(std::string& value, const std::vector<std::string>& words) {
  return parsed(
      value,
      [words](const std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return text;
        std::string all;
        for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
        const std::string near = nearest(text, words);
        fail("'", text, "' is none of ", all, near.empty() ? "" : "; did you mean " + near + "?");
      },
      [](const std::string& text) { return text; });
}

ConfigKeys detector_run_keys(DetectorConfig& c) {
  return joined(
      {{{"OUTPUT_DIR", &c.output_dir, "folder for runs", {.own = true}},
        {"NUM_GPUS",
         &c.num_gpus,
         "number of replicas unless DEVICES is set",
         {.least = 1, .most = 4096}},
        {"RNG_SEED",
         &c.seed,
         "seed of the initial weights, the order of data and random draws",
         {.least = 0, .remembered = true}},
        {"DEDUP_BOXES",
         &c.dedup_boxes,
         "tests: proposals that are equal after rounding at this scale count once; 0: off",
         {.least = 0}},
        {"BBOX_XFORM_CLIP",
         &c.network.bbox_xform_clip,
         "largest change of the logarithm of a box's width or height",
         {.least = 0, .most = 80}},
        {"PIXEL_MEANS", &c.pixel_means,
         "means of the blue, green and red channel, which are subtracted"}},
       unused_keys(c.unused)});
}

ConfigKeys own_detector_keys(DetectorConfig& c) {
  DetectionShape& shape = c.network.shape;
  ConfigKeys own = joined(
      {{{"IMAGE",
         parsed(
             shape, [&shape](const std::string& text) { return parse_image(shape, text); },
             text_of_image),
         "height and width of the input, such as 800x1344; empty: the largest that TRAIN.SCALES "
         "and MAX_SIZE allow",
         {.flag = "--image", .remembered = true}}},
       keys_of(c.run),
       {{"RESNETS.STEM_OUT_CHANNELS", &c.network.resnets.stem_out_channels, "channels of the stem",
         at_least(1)},
        {"RESNETS.RES2_OUT_CHANNELS", &c.network.resnets.res2_out_channels,
         "channels of the first stage; default with basic blocks: 64", at_least(1)},
        {"TRAIN.TRUE_BOXES",
         &shape.true_boxes,
         "number of places for the true boxes of an image; in training as many as the "
         "fullest image needs unless given",
         {.least = 1, .most = 65536}},
        {"TRAIN.PROPOSALS", &shape.proposals,
         "number of places for proposals from files; default: TRAIN.RPN_POST_NMS_TOP_N",
         at_least(1)},
        {"TRAIN.SHAPES",
         &c.train.shapes,
         "largest number of sizes that pictures are padded to, each with a graph of its own; 0: 6, "
         "or 12 with several TRAIN.SCALES",
         {.least = 0, .most = 64, .remembered = true}},
        {"TRAIN.SKIP_BAD_IMAGES", &c.train.skip_bad_images,
         "a picture that cannot be read is replaced by another one, and counted; false: it stops "
         "the run"},
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
