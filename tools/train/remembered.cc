#include "tools/train/remembered.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "builders/all_reduce/spec.h"
#include "graph/error.h"

namespace lockstep {
namespace {

const char* const kKeys[] = {"MODEL.TYPE",
                             "MODEL.NUM_CLASSES",
                             "MODEL.HIDDEN",
                             "MODEL.ONNX",
                             "MODEL.FREEZE",
                             "DATA.NAME",
                             "DATA.TRAIN_SIZE",
                             "DATA.IMAGE_SIZE",
                             "DATA.CROP_SCALE",
                             "DATA.FLIP",
                             "RNG_SEED",
                             "TRAIN.BATCH_SIZE",
                             "PRECISION",
                             "SOLVER.DEFERRED",
                             "RESNETS.STRIDE_1X1",
                             "MODEL.TRAIN_BATCH_NORM",
                             "TRAIN.SYNC_BATCH_NORM"};

constexpr const char* kWaitingFor = "ALL_REDUCE for";
constexpr const char* kSolver = "SOLVER.TYPE";

// Checkpoints of before it was remembered hold a momentum, be it Nesterov's or not.
std::string solver_in(const Metadata& saved, const std::string& now) {
  const auto found = saved.find(kSolver);
  if (found != saved.end()) return found->second;
  return now == "Nesterov" ? now : "SGD";
}

}  // namespace

Metadata remembered(const TrainConfig& config) {
  Metadata metadata;
  for (const auto& [key, value] : config.entries())
    if (std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys))
      metadata.emplace(key, value);
  metadata.emplace(kSolver, type_of(config.optimizer));
  // Gradients that wait for a mean are not those that wait for a sum: only the latter hold 1/N.
  if (config.deferred)
    metadata.emplace(kWaitingFor, parse_all_reduce(config.all_reduce).reduction == Reduction::mean
                                      ? "a mean"
                                      : "a sum");
  return metadata;
}

namespace {

// Numbers were once written with more digits than they need.
bool same(const std::string& a, const std::string& b) {
  std::istringstream left(a), right(b);
  for (std::string x, y; true;) {
    const bool more = static_cast<bool>(left >> x), others = static_cast<bool>(right >> y);
    if (!more || !others) return more == others;
    if (x == y) continue;
    const std::size_t at = x.find_first_not_of('['), other = y.find_first_not_of('[');
    if (at != other || at == x.npos) return false;
    char *end = nullptr, *other_end = nullptr;
    if (std::strtod(x.c_str() + at, &end) != std::strtod(y.c_str() + at, &other_end)) return false;
    if (end == x.c_str() + at || std::string(end) != other_end) return false;
  }
}

}  // namespace

void check_remembered(const TrainConfig& config, const Metadata& saved, const std::string& path,
                      int64_t replicas) {
  const auto of_saved = saved.find("replicas");
  const bool same_replicas =
      replicas > 1 && (of_saved == saved.end() || of_saved->second == std::to_string(replicas));
  for (const auto& [key, now] : remembered(config)) {
    if (key == kWaitingFor && !same_replicas) continue;  // they start at zero again
    if (key == kSolver) {
      const std::string then = solver_in(saved, now);
      check(then == now, path, ": saved with ", key, " ", then, ", now it is ", now,
            "; train without --resume, or set it back");
      continue;
    }
    const auto found = saved.find(key);
    check(found == saved.end() || same(found->second, now), path, ": saved with ", key, " ",
          found == saved.end() ? "" : found->second, ", now it is ", now,
          "; train without --resume, or set it back");
  }
}

}  // namespace lockstep
