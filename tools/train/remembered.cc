#include "tools/train/remembered.h"

#include <algorithm>
#include <iterator>

#include "builders/all_reduce/spec.h"
#include "graph/error.h"

namespace lockstep {
namespace {

const char* const kKeys[] = {
    "MODEL.TYPE", "MODEL.NUM_CLASSES", "MODEL.HIDDEN",    "MODEL.ONNX",      "MODEL.FREEZE",
    "DATA.NAME",  "DATA.TRAIN_SIZE",   "DATA.IMAGE_SIZE", "DATA.CROP_SCALE", "DATA.FLIP",
    "RNG_SEED",   "TRAIN.BATCH_SIZE",  "PRECISION",       "SOLVER.DEFERRED"};

}  // namespace

Metadata remembered(const TrainConfig& config) {
  Metadata metadata;
  for (const auto& [key, value] : config.entries())
    if (std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys))
      metadata.emplace(key, value);
  // Gradients that wait for a mean are not those that wait for a sum: only the latter hold 1/N.
  if (config.deferred)
    metadata.emplace(
        "ALL_REDUCE for",
        parse_all_reduce(config.all_reduce).reduction == Reduction::mean ? "a mean" : "a sum");
  return metadata;
}

void check_remembered(const TrainConfig& config, const Metadata& saved, const std::string& path) {
  for (const auto& [key, now] : remembered(config)) {
    const auto found = saved.find(key);
    check(found == saved.end() || found->second == now, path, ": saved with ", key, " ",
          found == saved.end() ? "" : found->second, ", now it is ", now,
          "; start a new OUTPUT_DIR, or set it back");
  }
}

}  // namespace lockstep
