// TRAIN and DATA_LOADER.
#include "tools/detection/key_tables.h"

namespace lockstep {
namespace {

ConfigKeys sampling_keys(DetectionTrainOptions& c) {
  return {
      {"TRAIN.IMS_PER_BATCH",
       &c.ims_per_batch,
       "images of a replica in a step",
       {.least = 1, .most = 65536}},
      {"TRAIN.BATCH_SIZE_PER_IM", &c.batch_size_per_im, "RoIs of an image", at_least(1)},
      {"TRAIN.FG_FRACTION", &c.fg_fraction, "share of them that may be foreground", share()},
      {"TRAIN.FG_THRESH",
       &c.fg_thresh,
       "IoU from which a RoI is foreground",
       {.least = kLeastShare, .most = 1}},
      {"TRAIN.BG_THRESH_HI", &c.bg_thresh_hi, "IoU below which it is background", share()},
      {"TRAIN.BG_THRESH_LO", &c.bg_thresh_lo, "IoU from which it is", {.least = -1, .most = 1}},
      {"TRAIN.RPN_POSITIVE_OVERLAP",
       &c.rpn_positive_overlap,
       "IoU from which an anchor is foreground",
       {.least = kLeastShare, .most = 1}},
      {"TRAIN.RPN_NEGATIVE_OVERLAP", &c.rpn_negative_overlap, "IoU below which it is background",
       share()},
      {"TRAIN.RPN_FG_FRACTION", &c.rpn_fg_fraction,
       "share of sampled anchors that may be foreground", share()},
      {"TRAIN.RPN_BATCH_SIZE_PER_IM", &c.rpn_batch_size_per_im, "sampled anchors of an image",
       at_least(1)},
      {"TRAIN.RPN_NMS_THRESH", &c.rpn_nms_thresh, "IoU above which a worse proposal is dropped",
       share()},
      {"TRAIN.RPN_PRE_NMS_TOP_N", &c.rpn_pre_nms_top_n,
       "best proposals before suppression; of each level with an FPN", at_least(1)},
      {"TRAIN.RPN_POST_NMS_TOP_N", &c.rpn_post_nms_top_n, "best proposals after it", at_least(1)},
      {"TRAIN.RPN_STRADDLE_THRESH",
       &c.rpn_straddle_thresh,
       "pixels that an anchor may reach beyond the image; -1: any",
       {.least = -1}},
      {"TRAIN.RPN_MIN_SIZE", &c.rpn_min_size, "smallest side of a proposal", {.least = 0}},
      {"TRAIN.CROWD_FILTER_THRESH",
       &c.crowd_filter_thresh,
       "share of a proposal in a crowd from which it is dropped",
       {.least = 0}}};
}

ConfigKeys rest_of_training_keys(DetectorConfig& config) {
  DetectionTrainOptions& c = config.network.train;
  DetectionTraining& train = config.train;
  return {
      {"TRAIN.WEIGHTS", &train.data.weights, "file to start from"},
      {"TRAIN.DATASETS", &train.data.datasets, "names of data sets"},
      {"TRAIN.SCALES",
       &c.scales,
       "shorter sides of an image, one of them drawn for each step",
       {.least = 1, .most = 1 << 16}},
      {"TRAIN.MAX_SIZE",
       &c.max_size,
       "its longer side is no longer",
       {.least = 1, .most = 1 << 16}},
      {"TRAIN.USE_FLIPPED", &train.use_flipped, "also train on mirrored images"},
      {"TRAIN.BBOX_THRESH", &train.bbox_thresh, "boxes are learnt from TRAIN.FG_THRESH on",
       unused_key()},
      {"TRAIN.SNAPSHOT_ITERS",
       &train.snapshot_iters,
       "iterations between two checkpoints of one replica; divided by their number",
       {.least = 1}},
      {"TRAIN.PROPOSAL_FILES", &train.data.proposal_files,
       "a file of proposals for each data set, in models without an RPN"},
      {"TRAIN.ASPECT_GROUPING", &train.aspect_grouping, "wide images share steps with wide ones"},
      {"TRAIN.GT_MIN_AREA", &train.gt_min_area, "area below which objects are left out; -1: none"},
      {"TRAIN.FREEZE_CONV_BODY", &c.freeze_conv_body, "the body is not trained"},
      {"TRAIN.FREEZE_AT",
       &c.freeze_at,
       "stages of the body up to this one are not trained: 0, 2, 3, 4 or 5",
       {.least = 0, .most = 5}},
      {"TRAIN.GENERATE_PROPOSALS_ON_GPU", &config.unused.train_proposals_on_gpu,
       "where proposals are computed is the plan's choice", unused_key()},
      {"TRAIN.AUTO_RESUME", &config.unused.auto_resume, "`--resume` says it", unused_key()},
      {"TRAIN.COPY_WEIGHTS", &config.unused.copy_weights, "weights stay where they are",
       unused_key()}};
}

ConfigKeys loader_keys(DetectionLoader& c) {
  return {{"DATA_LOADER.NUM_THREADS",
           &c.num_threads,
           "threads that read images",
           {.least = 1, .most = kMostThreads, .own = true}},
          {"DATA_LOADER.MINIBATCH_QUEUE_SIZE", &c.minibatch_queue_size,
           "two steps are read ahead of the one that runs", unused_key()},
          {"DATA_LOADER.BLOBS_QUEUE_CAPACITY", &c.blobs_queue_capacity,
           "two steps are read ahead of the one that runs", unused_key()}};
}

}  // namespace

ConfigKeys detector_training_keys(DetectorConfig& config) {
  return joined({rest_of_training_keys(config), sampling_keys(config.network.train),
                 loader_keys(config.loader)});
}

}  // namespace lockstep
