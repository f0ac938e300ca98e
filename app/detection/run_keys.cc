// SPDX-License-Identifier: Apache-2.0
// Detectron's keys without a section, and its keys without effect here.
#include "app/detection/key_tables.h"

namespace lockstep {
namespace {

ConfigKeys unused_keys(UnusedDetectronKeys& c) {
  const KeyFacts facts = unused_key();
  KeyFacts drawing = facts;
  drawing.not_done = {
      {"test"}, [&c] { return c.vis; }, "set it to false; `lockstep infer --out` draws detections"};
  return {
      {"MODEL.EXECUTION_TYPE", &c.execution_type, "the plan decides the order of execution", facts},
      {"MEMONGER", &c.memonger, "plans always share memory", facts},
      {"MEMONGER_SHARE_ACTIVATIONS", &c.memonger_share_activations, "plans always share memory",
       facts},
      {"EPS", &c.eps, "Detectron never reads it", facts},
      {"ROOT_DIR", &c.root_dir, "folder of Detectron's code", facts},
      {"MATLAB", &c.matlab, "MATLAB command for the scores of Pascal VOC", facts},
      {"VIS", &c.vis, "draw detections during a test", drawing},
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

ConfigKeys detector_run_keys(DetectorConfig& c) {
  return joined(
      {{{"OUTPUT_DIR", &c.output_dir, "folder for runs", {.own = true}},
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

}  // namespace lockstep
