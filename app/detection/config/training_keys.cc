// SPDX-License-Identifier: Apache-2.0
// TRAIN and DATA_LOADER.
#include "app/detection/config/key_tables.h"
#include "app/detection/datasets/data_sets.h"

namespace lockstep {
namespace {

ConfigKeys sampling_keys(DetectionTrainOptions& c) {
  return {{"TRAIN.IMS_PER_BATCH",
           &c.ims_per_batch,
           "number of images of a step on each replica",
           {.least = 1, .most = 65536}},
          {"TRAIN.BATCH_SIZE_PER_IM", &c.batch_size_per_im, "number of sampled RoIs of an image",
           at_least(1)},
          {"TRAIN.FG_FRACTION", &c.fg_fraction,
           "largest fraction of foreground among the sampled RoIs", share()},
          {"TRAIN.FG_THRESH",
           &c.fg_thresh,
           "smallest IoU of a foreground RoI",
           {.least = kLeastShare, .most = 1}},
          {"TRAIN.BG_THRESH_HI", &c.bg_thresh_hi, "IoU below which a RoI is background", share()},
          {"TRAIN.BG_THRESH_LO",
           &c.bg_thresh_lo,
           "smallest IoU of a background RoI",
           {.least = -1, .most = 1}},
          {"TRAIN.RPN_POSITIVE_OVERLAP",
           &c.rpn_positive_overlap,
           "smallest IoU of a foreground anchor",
           {.least = kLeastShare, .most = 1}},
          {"TRAIN.RPN_NEGATIVE_OVERLAP", &c.rpn_negative_overlap,
           "IoU below which an anchor is background", share()},
          {"TRAIN.RPN_FG_FRACTION", &c.rpn_fg_fraction,
           "largest fraction of foreground among the sampled anchors", share()},
          {"TRAIN.RPN_BATCH_SIZE_PER_IM", &c.rpn_batch_size_per_im,
           "number of sampled anchors of an image", at_least(1)},
          {"TRAIN.RPN_NMS_THRESH", &c.rpn_nms_thresh,
           "IoU above which the worse of two proposals is dropped", share()},
          {"TRAIN.RPN_PRE_NMS_TOP_N", &c.rpn_pre_nms_top_n,
           "number of proposals before suppression; of each level with an FPN", at_least(1)},
          {"TRAIN.RPN_POST_NMS_TOP_N", &c.rpn_post_nms_top_n,
           "number of proposals after suppression", at_least(1)},
          {"TRAIN.RPN_STRADDLE_THRESH",
           &c.rpn_straddle_thresh,
           "number of pixels by which an anchor may leave the image; -1: any",
           {.least = -1}},
          {"TRAIN.RPN_MIN_SIZE", &c.rpn_min_size, "smallest side of a proposal", {.least = 0}},
          {"TRAIN.CROWD_FILTER_THRESH",
           &c.crowd_filter_thresh,
           "a proposal is dropped if a larger fraction of its area is in a crowd region; 0: off",
           {.least = 0}}};
}

ConfigKeys rest_of_training_keys(DetectorConfig& config) {
  DetectionTrainOptions& c = config.network.train;
  DetectionTraining& train = config.train;
  return {{"TRAIN.WEIGHTS", &train.data.weights,
           "safetensors file with the initial weights: docs/weights.md"},
          {"TRAIN.DATASETS",
           &train.data.datasets,
           "names of data sets",
           {.words = names_of_sets(kScenesTrain)}},
          {"TRAIN.SCALES",
           &c.scales,
           "lengths of the shorter side of an image, one of them drawn for each image; for "
           "each step with TRAIN.SCALE_PER_IMAGE false",
           {.least = 1, .most = 1 << 16}},
          {"TRAIN.MAX_SIZE",
           &c.max_size,
           "largest length of the longer side",
           {.least = 1, .most = 1 << 16}},
          {"TRAIN.USE_FLIPPED", &train.use_flipped, "also train on mirrored images"},
          {"TRAIN.BBOX_THRESH",
           &c.bbox_thresh,
           "smallest IoU of a sampled RoI whose box is learnt, also of a background RoI",
           {.least = kLeastShare, .most = 1}},
          {"TRAIN.SNAPSHOT_ITERS",
           &train.snapshot_iters,
           "iterations between two checkpoints; divided by the number of replicas",
           {.least = 1}},
          {"TRAIN.PROPOSAL_FILES", &train.data.proposal_files,
           "a file of proposals for each data set, in models without an RPN"},
          {"TRAIN.ASPECT_GROUPING", &train.aspect_grouping,
           "only images of similar shape share a step"},
          {"TRAIN.GT_MIN_AREA", &train.gt_min_area,
           "objects with a smaller area are left out; -1: none"},
          {"TRAIN.FREEZE_CONV_BODY", &c.freeze_conv_body, "do not train the body"},
          {"TRAIN.FREEZE_AT",
           &c.freeze_at,
           "do not train the body's stages up to this one: 0, 2, 3, 4 or 5",
           {.least = 0, .most = 5}},
          {"TRAIN.GENERATE_PROPOSALS_ON_GPU", &config.unused.train_proposals_on_gpu,
           "the plan chooses the device", unused_key()},
          {"TRAIN.AUTO_RESUME", &config.unused.auto_resume, "use `--resume`", unused_key()},
          {"TRAIN.COPY_WEIGHTS", &config.unused.copy_weights, "weights are never copied",
           unused_key()}};
}

ConfigKeys loader_keys(DetectionLoader& c) {
  return {{"DATA_LOADER.NUM_THREADS",
           &c.num_threads,
           "threads that read images",
           {.least = 1, .most = kMostThreads, .own = true}},
          {"DATA_LOADER.MINIBATCH_QUEUE_SIZE", &c.minibatch_queue_size,
           "two steps are always read ahead", unused_key()},
          {"DATA_LOADER.BLOBS_QUEUE_CAPACITY", &c.blobs_queue_capacity,
           "two steps are always read ahead", unused_key()}};
}

}  // namespace

ConfigKeys detector_training_keys(DetectorConfig& config) {
  return joined({rest_of_training_keys(config), sampling_keys(config.network.train),
                 loader_keys(config.loader)});
}

}  // namespace lockstep
