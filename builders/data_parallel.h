// build_data_parallel_model: a network written once for one device becomes a training step over any
// number of replicas.
#pragma once

#include <string>
#include <vector>

#include "builders/all_reduce/all_reduce.h"
#include "builders/clip.h"
#include "builders/net.h"
#include "builders/optimizers.h"
#include "graph/training.h"

namespace lockstep {

struct DataParallelOptions {
  int replicas = 1;
  // Names of replicas begin with it: gpu_0/, gpu_1/ or cpu_0/, ... It is for people; where a
  // replica runs is said when a session is made.
  std::string scope = "gpu";
  // Parameters that no loss reaches are an error unless this allows them; they then stay as they
  // were initialised.
  bool allow_untrained = false;
  // Parameters, named with * and ?, that are never trained; the reverse pass stops where nothing
  // behind them is.
  std::vector<std::string> frozen = {};
  ClipOptions clip = {};
  // How gradients are summed over replicas: see builders/all_reduce/spec.h.
  AllReduceOptions all_reduce = {};
};

// The model's graphs refer to `ops`, which must outlive it. Throws when a replica builds another
// network than replica 0, naming the difference.
TrainingModel build_data_parallel_model(const OpSet& ops, const ModelFn& model,
                                        const MomentumSgd& optimizer,
                                        const DataParallelOptions& options = {});

}  // namespace lockstep
