// SPDX-License-Identifier: Apache-2.0
// The YAML configuration of a detector: Detectron's keys and defaults, and our own keys. Options of
// the network are in models/detection/options.h; the rest is here.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/config/files.h"
#include "app/config/named_sections.h"
#include "app/train/settings.h"
#include "models/detection/options.h"

namespace lockstep {

struct DetectionData {  // of TRAIN or TEST
  std::string weights;
  std::vector<std::string> datasets;
  std::vector<std::string> proposal_files;
};

struct DetectionSets {  // data sets by name
  // VOC is the folder of a set of Pascal VOC, such as VOCdevkit/VOC2007, LIST a list of its
  // pictures such as trainval, CLASSES their classes, divided by commas, if they are not Pascal's.
  // KEYPOINT_SIGMAS and KEYPOINT_FLIPS: see keypoint_declarations.h.
  NamedSections declared{{"IMAGES", "ANNOTATIONS"},
                         {},
                         {"VOC", "LIST", "CLASSES"},
                         {"KEYPOINT_SIGMAS", "KEYPOINT_FLIPS"}};
  std::string data_dir = "data";
  bool exif = true;
  int64_t train_scenes = 4000, val_scenes = 500;
};

struct LargeJitter {              // TRAIN.JITTER, ours
  int64_t height = 0, width = 0;  // of the input; 0 x 0: no jitter
  std::vector<double> ratios{0.1, 2};

  bool on() const { return height > 0; }
};

struct DetectionTraining {  // the rest of TRAIN
  DetectionData data;
  bool use_flipped = true;
  int64_t snapshot_iters = 80000;  // of one GPU; TrainSettings has the number for all
  bool aspect_grouping = true;
  bool empty_images = false;    // ours
  bool scale_per_image = true;  // ours
  LargeJitter jitter;           // ours
  double gt_min_area = -1;
  int64_t shapes = 0;  // ours: largest number of padded sizes; 0: 6, or 12 with several scales
  bool skip_bad_images = false;                                                     // ours
  bool freeze_random = false, weights_must_agree = true, weights_momentum = false;  // ours
};

struct DetectionLoader {  // DATA_LOADER
  int64_t num_threads = 4;
  int64_t minibatch_queue_size = 64;
  int64_t blobs_queue_capacity = 8;
};

// The common part of TEST.BBOX_AUG, MASK_AUG and KPS_AUG.
struct TestAugmentation {
  bool enabled = false;
  bool h_flip = false;
  std::vector<int64_t> scales;
  int64_t max_size = 4000;
  bool scale_h_flip = false;
  bool scale_size_dep = false;
  std::vector<double> aspect_ratios;
  bool aspect_ratio_h_flip = false;
};

struct BoxAugmentation : TestAugmentation {
  std::string score_heur = "UNION";
  std::string coord_heur = "UNION";
  double area_th_lo = 50 * 50;
  double area_th_hi = 180 * 180;
};

struct MaskAugmentation : TestAugmentation {
  std::string heur = "SOFT_AVG";
  double area_th = 180 * 180;
};

struct KeypointAugmentation : TestAugmentation {
  std::string heur = "HM_AVG";
  double area_th = 180 * 180;
};

struct ExpectedResults {  // EXPECTED_RESULTS
  std::string results = "[]";
  double rtol = 0.1, atol = 0.005;
  double sigma_tol = 4;
};

struct DetectionScoring {  // the rest of TEST
  DetectionData data;
  bool competition_mode = true;
  bool force_json_dataset_eval = false;
  bool precomputed_proposals = true;  // inferred
  bool class_specific_ar = false;
  bool vis = false;  // VIS
  double vis_th = 0.9;
  BoxAugmentation bbox_aug;
  MaskAugmentation mask_aug;
  KeypointAugmentation kps_aug;
  bool loss = true;  // ours
};

// Keys of Detectron that have no meaning here.
struct UnusedDetectronKeys {
  std::string execution_type = "dag";
  bool auto_resume = true, copy_weights = false;
  bool train_proposals_on_gpu = false, test_proposals_on_gpu = false;
  bool memonger = true, memonger_share_activations = false;
  double eps = 1e-14;
  std::string root_dir = ".", matlab = "matlab";
  std::string expected_results_email;
  bool on_cluster = false;
};

enum class DetectorNoteKind {
  old_function,  // a function's former name
  old_type,      // a deprecated MODEL.TYPE
  old_key,       // an obsolete key
  unused,        // a key that has no effect here
  weights,       // a value that the source of weights decides
  batch          // a step has another number of images than the file's rates are for
};
struct DetectorNote {
  DetectorNoteKind kind;
  std::string text;  // one line
};

struct DetectorConfig : TrainSettings {
  DetectorOptions network;

  int64_t num_gpus = 1;   // the number of replicas, also if DEVICES is set
  bool use_nccl = false;  // ignored if ALL_REDUCE is set
  double dedup_boxes = 1.0 / 16;
  std::string download_cache = "/tmp/detectron-download-cache";
  std::vector<double> pixel_means = {102.9801, 115.9465, 122.7717};  // blue, green, red

  bool scale_to_batch = false;

  DetectionSets sets;
  DetectionTraining train;
  DetectionLoader loader;
  DetectionScoring test;
  ExpectedResults expected;
  UnusedDetectronKeys unused;

  Origins origins;
  std::vector<DetectorNote> notes;
  // The reason why the learning rate does not fit the images of a step; empty if it fits.
  std::string misfit;

  DetectorConfig();  // Detectron's defaults where classification has other defaults
};

// Detectron's 229 keys, marked by their facts, and our keys for detectors, the run and the step. In
// the order of the reference page.
ConfigKeys keys_of(DetectorConfig& config);
// Former names of keys in older versions of Detectron.
std::vector<FormerKey> former_detectron_keys();

// Reads the files, then the overrides (KEY VALUE KEY VALUE ..). Infers values from other keys, and
// checks that all keys fit together. Throws with file:line and key.
DetectorConfig read_detector_config(const ConfigFiles& files,
                                    const std::vector<std::string>& overrides, int processes = 1);

}  // namespace lockstep
