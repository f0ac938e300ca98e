// SPDX-License-Identifier: Apache-2.0
// Detectron's keys without a section, and its keys without effect here.
#include "app/detection/config/key_tables.h"

namespace lockstep {
namespace {

ConfigKeys unused_keys(UnusedDetectronKeys& c) {
  const KeyFacts facts = unused_key();
  return {
      {"MODEL.EXECUTION_TYPE", &c.execution_type, "the plan decides the order of execution", facts},
      {"MEMONGER", &c.memonger, "plans always share memory", facts},
      {"MEMONGER_SHARE_ACTIVATIONS", &c.memonger_share_activations, "plans always share memory",
       facts},
      {"EPS", &c.eps, "Detectron never reads it", facts},
      {"ROOT_DIR", &c.root_dir, "folder of Detectron's code", facts},
      {"MATLAB", &c.matlab, "MATLAB command for the scores of Pascal VOC", facts},
      {"EXPECTED_RESULTS_EMAIL", &c.expected_results_email,
       "nothing is mailed: a result outside its tolerance ends `test` with exit code 1", facts},
      {"CLUSTER.ON_CLUSTER", &c.on_cluster, "run on the cluster of Detectron's authors", facts}};
}

// Keys for the use of a test's results besides scores.
ConfigKeys result_check_keys(DetectorConfig& c) {
  return {
      {"VIS", &c.test.vis, "`test` also draws the detections of each picture, as PNG files"},
      {"VIS_TH", &c.test.vis_th, "smallest score of a drawn detection", {.least = 0}},
      {"EXPECTED_RESULTS",
       &c.expected.results,
       "results that `test` compares with its own, or ends with exit code 1: a list of [data set, "
       "box or box_proposal, number, value or [mean, deviation]]",
       {.nested = true}},
      {"EXPECTED_RESULTS_RTOL",
       &c.expected.rtol,
       "tolerance of EXPECTED_RESULTS, as a share of the value",
       {.least = 0}},
      {"EXPECTED_RESULTS_ATOL",
       &c.expected.atol,
       "tolerance of EXPECTED_RESULTS that is added to the share",
       {.least = 0}},
      {"EXPECTED_RESULTS_SIGMA_TOL",
       &c.expected.sigma_tol,
       "tolerance of EXPECTED_RESULTS with a deviation, in deviations",
       {.least = 0}}};
}

}  // namespace

ConfigKeys detector_run_keys(DetectorConfig& c) {
  return joined(
      {{{"OUTPUT_DIR", &c.output_dir, "folder for runs", {.own = true}},
        {"DOWNLOAD_CACHE",
         &c.download_cache,
         "folder for the files of TRAIN.WEIGHTS and TEST.WEIGHTS that are URLs: docs/weights.md",
         {.own = true}},
        {"NUM_GPUS",
         &c.num_gpus,
         "number of replicas unless DEVICES is set",
         {.least = 1, .most = 4096}},
        {"USE_NCCL", &c.use_nccl,
         "where set, and ALL_REDUCE is not: true is ALL_REDUCE nccl (on CPUs collective), false is "
         "ALL_REDUCE muji"},
        {"RNG_SEED",
         &c.seed,
         "seed of the initial weights, the order of data and random draws",
         {.least = 0, .remembered = true}},
        {"DEDUP_BOXES",
         &c.dedup_boxes,
         "tests: proposals of a file that are equal after scaling by this factor and rounding get "
         "the scores and the box of the first; 0: off",
         {.least = 0}},
        {"BBOX_XFORM_CLIP",
         &c.network.bbox_xform_clip,
         "largest change of the logarithm of a box's width or height",
         {.least = 0, .most = 80}},
        {"PIXEL_MEANS", &c.pixel_means,
         "means of the blue, green and red channel, which are subtracted"}},
       unused_keys(c.unused),
       result_check_keys(c)});
}

}  // namespace lockstep
