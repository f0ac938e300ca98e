// The YAML file behind `lockstep train` for classification. Keys are Detectron's where it has one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "builders/clip.h"
#include "builders/lr_schedule.h"
#include "builders/optimizers.h"

namespace lockstep {

struct TrainConfig {
  std::string path;
  std::string output_dir;                 // OUTPUT_DIR, default runs/<file name>
  std::string devices = "cpu";            // DEVICES
  std::string all_reduce = "collective";  // ALL_REDUCE: see builders/all_reduce/spec.h
  std::vector<int64_t> ring_order;  // RING_ORDER of xring: a process's replicas; none: 0, 1, ..
  // PACKING: see builders/all_reduce/packing.h; auto: none in one process, ready:1M:25M over
  // several
  std::string packing = "auto";
  int64_t pieces = 1;  // PIECES that a bucket is cut into, each summed by itself
  std::string wire;    // WIRE: float16 or bfloat16 for gradients on their way; else as they are
  // PRECISION of the forward and backward pass: float32, bfloat16 or float16 (with a scaled loss)
  std::string precision = "float32";
  bool tf32 =
      false;  // TF32: GPUs may round what products take of float32, see docs/data_parallel.md
  std::string topology;  // TOPOLOGY that ALL_REDUCE auto goes by: builders/all_reduce/cost.h
  std::string buckets;   // BUCKETS: a file with a plan of buckets, in place of PACKING
  int64_t threads = 0;   // THREADS, per replica; 0: an equal share of the cores
  int64_t seed = 3;      // RNG_SEED

  std::string model = "lenet";               // MODEL.TYPE
  int64_t classes = 10;                      // MODEL.NUM_CLASSES
  std::vector<int64_t> hidden = {256, 128};  // MODEL.HIDDEN

  bool stride_in_1x1 = false;   // RESNETS.STRIDE_1X1
  bool zero_init_gamma = true;  // RESNETS.ZERO_INIT_GAMMA

  // A network that is brought along, in place of MODEL.TYPE.
  std::string onnx;                 // MODEL.ONNX
  bool new_classifier = false;      // MODEL.NEW_CLASSIFIER: the layer that makes the scores is new
  std::vector<std::string> freeze;  // MODEL.FREEZE: parameters that stay, names with * and ?
  std::string weights;              // MODEL.WEIGHTS: a safetensors file to start from

  std::string dataset = "digits";  // DATA.NAME
  std::string data_root;           // DATA.ROOT: folder of its files
  int64_t train_size = 10000;      // DATA.TRAIN_SIZE, of generated sets
  int64_t test_size = 2000;        // DATA.TEST_SIZE
  int64_t image_size = 224;        // DATA.IMAGE_SIZE
  int64_t resize = 256;            // DATA.RESIZE: the shorter side before a test's middle is cut
  std::vector<double> crop_scale{0.08, 1};  // DATA.CROP_SCALE: share of the area in training
  bool flip = true;                         // DATA.FLIP
  int64_t data_threads = 0;                 // DATA.THREADS that read images; 0: one for each core

  int64_t batch_size = 64;       // TRAIN.BATCH_SIZE, over all replicas
  int64_t snapshot_iters = 200;  // TRAIN.SNAPSHOT_ITERS
  int64_t log_iters = 20;        // TRAIN.LOG_ITERS
  int64_t drift_iters = 100;     // TRAIN.DRIFT_ITERS: how often replicas are compared bit for bit
  int64_t micro_batches = 1;     // TRAIN.MICRO_BATCHES: parts of a replica's share, one by one
  std::string statistics = "each";  // TRAIN.STATISTICS of batch norm: each, mean, first
  bool sync_batch_norm = false;     // TRAIN.SYNC_BATCH_NORM
  int64_t test_iters = 200;         // TEST.ITERS: every so many iterations, and at the end

  MomentumSgd optimizer;
  ClipOptions clip;  // SOLVER.CLIP_NORM, CLIP_EACH_NORM, CLIP_VALUE, CLIP_BEFORE_REDUCE
  // SOLVER.SKIP_NON_FINITE: a step whose gradients are not finite changes nothing
  bool skip_non_finite = false;
  // SOLVER.DEFERRED: updates take the gradients of the step before
  bool deferred = false;
  LrSchedule schedule;
  // SOLVER.LOG_LR_CHANGE_THRESHOLD: a rate that changes by more than this factor is a line
  double log_lr_change_threshold = 1.1;

  // Every key with its value as text, in a fixed order.
  std::vector<std::pair<std::string, std::string>> entries() const;
};

// Reads the file, then the overrides (KEY VALUE KEY VALUE ..). An unknown key, a value of the wrong
// kind or out of range throws with file:line and, for keys, the nearest one; so does what does not
// fit so many processes, each with DEVICES of its own.
TrainConfig read_config(const std::string& path, const std::vector<std::string>& overrides,
                        int processes = 1);

}  // namespace lockstep
