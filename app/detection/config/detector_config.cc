// SPDX-License-Identifier: Apache-2.0
#include "app/detection/config/detector_config.h"

#include <algorithm>
#include <set>

#include "app/config/read.h"
#include "app/detection/config/checks.h"
#include "app/detection/config/inferred_values.h"
#include "app/detection/config/key_tables.h"
#include "app/detection/config/lr_scaling.h"
#include "app/detection/datasets/data_sets.h"
#include "app/detection/weights.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Keys of shared tables that Detectron has, too.
const std::set<std::string>& shared_with_detectron() {
  static const std::set<std::string> keys{"SOLVER.BASE_LR",
                                          "SOLVER.LR_POLICY",
                                          "SOLVER.GAMMA",
                                          "SOLVER.STEP_SIZE",
                                          "SOLVER.STEPS",
                                          "SOLVER.LRS",
                                          "SOLVER.MAX_ITER",
                                          "SOLVER.MOMENTUM",
                                          "SOLVER.WEIGHT_DECAY",
                                          "SOLVER.WEIGHT_DECAY_GN",
                                          "SOLVER.WARM_UP_ITERS",
                                          "SOLVER.WARM_UP_FACTOR",
                                          "SOLVER.WARM_UP_METHOD",
                                          "SOLVER.SCALE_MOMENTUM",
                                          "SOLVER.SCALE_MOMENTUM_THRESHOLD",
                                          "SOLVER.LOG_LR_CHANGE_THRESHOLD"};
  return keys;
}

// Marks keys that Detectron has by this name.
ConfigKeys marked(ConfigKeys keys, bool all) {
  for (ConfigKey& key : keys)
    if (all || shared_with_detectron().count(key.key) > 0) key.facts.detectron = key.key;
  return keys;
}

using Fact = bool KeyFacts::*;
ConfigKeys with(Fact fact, const std::set<std::string>& names, ConfigKeys keys) {
  for (ConfigKey& key : keys)
    if (names.count(key.key) > 0) key.facts.*fact = true;
  return keys;
}

// Marks keys that decide which pictures a step has, or the meaning of the network's numbers.
ConfigKeys remembering(ConfigKeys keys) {
  return with(&KeyFacts::remembered,
              {"NUM_GPUS",
               "PIXEL_MEANS",
               "MODEL.TYPE",
               "MODEL.CONV_BODY",
               "MODEL.NUM_CLASSES",
               "MODEL.BBOX_REG_WEIGHTS",
               "RPN.SIZES",
               "RPN.ASPECT_RATIOS",
               "FPN.RPN_ANCHOR_START_SIZE",
               "FPN.RPN_ASPECT_RATIOS",
               "FPN.RPN_MIN_LEVEL",
               "RESNETS.STRIDE_1X1",
               "RESNETS.RES5_DILATION",
               "GROUP_NORM.DIM_PER_GP",
               "GROUP_NORM.NUM_GROUPS",
               "GROUP_NORM.EPSILON",
               "RETINANET.ANCHOR_SCALE",
               "RETINANET.ASPECT_RATIOS",
               "RETINANET.SCALES_PER_OCTAVE",
               "TRAIN.DATASETS",
               "TRAIN.SCALES",
               "TRAIN.MAX_SIZE",
               "TRAIN.IMS_PER_BATCH",
               "TRAIN.USE_FLIPPED",
               "TRAIN.ASPECT_GROUPING",
               "TRAIN.GT_MIN_AREA"},
              std::move(keys));
}

// Marks keys that decide the samples of a step and the weights of its losses.
ConfigKeys naming_changes(ConfigKeys keys) {
  return with(&KeyFacts::decides_bits,
              {"BBOX_XFORM_CLIP",
               "KRCNN.LOSS_WEIGHT",
               "KRCNN.NORMALIZE_BY_VISIBLE_KEYPOINTS",
               "MRCNN.WEIGHT_LOSS_MASK",
               "RETINANET.BBOX_REG_BETA",
               "RETINANET.BBOX_REG_WEIGHT",
               "RETINANET.LOSS_ALPHA",
               "RETINANET.LOSS_GAMMA",
               "RETINANET.NEGATIVE_OVERLAP",
               "RETINANET.POSITIVE_OVERLAP",
               "TRAIN.BATCH_SIZE_PER_IM",
               "TRAIN.BBOX_THRESH",
               "TRAIN.BG_THRESH_HI",
               "TRAIN.BG_THRESH_LO",
               "TRAIN.CROWD_FILTER_THRESH",
               "TRAIN.FG_FRACTION",
               "TRAIN.FG_THRESH",
               "TRAIN.FREEZE_AT",
               "TRAIN.FREEZE_CONV_BODY",
               "TRAIN.RPN_BATCH_SIZE_PER_IM",
               "TRAIN.RPN_FG_FRACTION",
               "TRAIN.RPN_MIN_SIZE",
               "TRAIN.RPN_NEGATIVE_OVERLAP",
               "TRAIN.RPN_NMS_THRESH",
               "TRAIN.RPN_POSITIVE_OVERLAP",
               "TRAIN.RPN_POST_NMS_TOP_N",
               "TRAIN.RPN_PRE_NMS_TOP_N",
               "TRAIN.RPN_STRADDLE_THRESH",
               "TRAIN.SHARED_NORMALISERS",
               "TRAIN.SKIP_BAD_IMAGES"},
              std::move(keys));
}

// Notes keys without effect that a file or a command line set.
void note_unused(DetectorConfig& config, const ConfigKeys& keys) {
  for (const ConfigKey& key : keys)
    if (key.facts.unused && config.origins.is_set(key.key))
      config.notes.push_back(
          {DetectorNoteKind::unused,
           join(config.origins.of(key.key), ": ", key.key, " has no effect here: ", key.meaning)});
}

// Notes keys of sizes that have no effect with or without large-scale jitter.
void note_jitter(DetectorConfig& config) {
  const bool jitters = config.train.jitter.on();
  const auto note = [&](const char* key, const char* why) {
    if (config.origins.is_set(key))
      config.notes.push_back({DetectorNoteKind::unused, join(config.origins.of(key), ": ", key,
                                                             " has no effect here: ", why)});
  };
  if (!jitters) note("TRAIN.JITTER.RATIOS", "TRAIN.JITTER.SIZE is empty, so there is no jitter");
  if (jitters) note("TRAIN.SCALES", "TRAIN.JITTER.SIZE gives the images of all steps their size");
}

}  // namespace

DetectorConfig::DetectorConfig() {
  output_dir = "/tmp";
  test_iters = 5000;
  step.options.rules.weight_decay = 0.0005F;
  step.options.rules.weight_decay_norm = 0;
  step.options.rules.bias_rate_factor = 2;
  schedule.warm_up_iters = 500;
}

ConfigKeys keys_of(DetectorConfig& c) {
  return naming_changes(remembering(
      joined({marked(detector_run_keys(c), true), marked(detector_network_keys(c.network), true),
              marked(detector_head_keys(c.network), true), marked(detector_training_keys(c), true),
              marked(detector_testing_keys(c), true), marked(detector_data_keys(c), false),
              marked(own_detector_keys(c), false)})));
}

std::vector<FormerKey> former_detectron_keys() {
  const char* to_tuple = "; a text becomes a list, too: 'a' is ('a',), and 'a:b' is ('a', 'b')";
  return {{"MODEL.PS_GRID_SIZE", "RFCN.PS_GRID_SIZE", ""},
          {"MODEL.ROI_HEAD", "FAST_RCNN.ROI_BOX_HEAD", ""},
          {"MRCNN.MASK_HEAD_NAME", "MRCNN.ROI_MASK_HEAD", ""},
          {"TRAIN.DATASET", "TRAIN.DATASETS", to_tuple},
          {"TRAIN.PROPOSAL_FILE", "TRAIN.PROPOSAL_FILES", to_tuple},
          {"TEST.SCALES", "TEST.SCALE", "; a list becomes a number, too: (600,) is 600"},
          {"TEST.DATASET", "TEST.DATASETS", to_tuple},
          {"TEST.PROPOSAL_FILE", "TEST.PROPOSAL_FILES", to_tuple},
          {"FINAL_MSG", "", ""},
          {"MODEL.DILATION", "", ""},
          {"ROOT_GPU_ID", "", ""},
          {"RPN.ON", "", ""},
          {"TRAIN.BBOX_NORMALIZE_TARGETS_PRECOMPUTED", "", ""},
          {"TRAIN.DROPOUT", "", ""},
          {"USE_GPU_NMS", "", ""},
          {"TEST.NUM_TEST_IMAGES", "", ""}};
}

DetectorConfig read_detector_config(const ConfigFiles& files,
                                    const std::vector<std::string>& overrides, int processes) {
  DetectorConfig config;
  config.path = files.back().path;
  config.origins.former = former_detectron_keys();
  ConfigKeys keys = keys_of(config);
  read_files(keys, files, config.origins);
  const ImagesOfStep of_file = images_of_file(config);
  read_words(keys, overrides, &config.origins);
  for (const std::string& note : config.origins.notes)
    config.notes.push_back({DetectorNoteKind::old_key, note});
  note_unused(config, keys);
  note_jitter(config);
  check_declared_sets(config);
  infer_values(config, processes);
  infer_means(config);
  check_detector(config, processes);
  fit_to_batch(config, of_file, processes);
  return config;
}

}  // namespace lockstep
