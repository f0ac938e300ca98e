// The YAML file behind `lockstep train` for classification. Keys are Detectron's where it has one.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "builders/lr_schedule.h"
#include "builders/optimizers.h"

namespace lockstep {

struct TrainConfig {
  std::string path;
  std::string output_dir;       // OUTPUT_DIR, default runs/<file name>
  std::string devices = "cpu";  // DEVICES
  int64_t threads = 0;          // THREADS, per replica; 0: an equal share of the cores
  int64_t seed = 3;             // RNG_SEED

  std::string model = "lenet";               // MODEL.TYPE
  int64_t classes = 10;                      // MODEL.NUM_CLASSES
  std::vector<int64_t> hidden = {256, 128};  // MODEL.HIDDEN

  std::string dataset = "digits";  // DATA.NAME
  int64_t train_size = 10000;      // DATA.TRAIN_SIZE
  int64_t test_size = 2000;        // DATA.TEST_SIZE

  int64_t batch_size = 64;       // TRAIN.BATCH_SIZE, over all replicas
  int64_t snapshot_iters = 200;  // TRAIN.SNAPSHOT_ITERS
  int64_t log_iters = 20;        // TRAIN.LOG_ITERS
  int64_t test_iters = 200;      // TEST.ITERS: every so many iterations, and at the end

  MomentumSgd optimizer;
  LrSchedule schedule;

  // Every key with its value as text, in a fixed order.
  std::vector<std::pair<std::string, std::string>> entries() const;
};

// Reads the file, then the overrides (KEY VALUE KEY VALUE ..). An unknown key, a value of the wrong
// kind or out of range throws with file:line and, for keys, the nearest one.
TrainConfig read_config(const std::string& path, const std::vector<std::string>& overrides);

}  // namespace lockstep
