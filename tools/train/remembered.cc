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

constexpr const char* kWaitingFor = "ALL_REDUCE for";

}  // namespace

Metadata remembered(const TrainConfig& config) {
  Metadata metadata;
  for (const auto& [key, value] : config.entries())
    if (std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys))
      metadata.emplace(key, value);
  // Gradients that wait for a mean are not those that wait for a sum: only the latter hold 1/N.
  if (config.deferred)
    metadata.emplace(kWaitingFor, parse_all_reduce(config.all_reduce).reduction == Reduction::mean
                                      ? "a mean"
                                      : "a sum");
  return metadata;
}

void check_remembered(const TrainConfig& config, const Metadata& saved, const std::string& path,
                      int64_t replicas) {
  const auto of_saved = saved.find("replicas");
  const bool same_replicas =
      replicas > 1 && (of_saved == saved.end() || of_saved->second == std::to_string(replicas));
  for (const auto& [key, now] : remembered(config)) {
    if (key == kWaitingFor && !same_replicas) continue;  // they start at zero again
    const auto found = saved.find(key);
    check(found == saved.end() || found->second == now, path, ": saved with ", key, " ",
          found == saved.end() ? "" : found->second, ", now it is ", now,
          "; start a new OUTPUT_DIR, or set it back");
  }
}

}  // namespace lockstep
